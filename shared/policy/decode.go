package policy

import "regexp"

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (d *decoder) document(v value) *Document {
	o, ok := v.object()
	if !ok {
		return nil
	}
	o.require("targets", "lanes")
	doc := &Document{
		Targets: named(o, "targets", decodeTarget),
		Lanes:   each(o, "lanes", decodeLane),
		Origins: named(o, "origins", decodeOrigin),
		Callers: each(o, "callers", decodeCaller),
		Log:     Log{Sample: 1},
	}
	if v, ok := o.take("log"); ok {
		if l, ok := v.object(); ok {
			doc.Log.Sample = l.share("sample", 1)
			l.done()
		}
	}
	o.done()
	d.checkLanes(doc)
	if doc.Callers != nil && len(doc.Callers) == 0 {
		d.fault("callers", "is empty, so nobody could call: name callers, or leave it out to let everybody")
	}
	return doc
}

// named reads a mapping from names to things; nil when it is left out. What is
// no mapping itself is the zero thing, so that its name is known.
func named[T any](o object, field string, read func(object, string) *T) map[string]*T {
	v, ok := o.take(field)
	if !ok {
		return nil
	}
	things, ok := v.object()
	if !ok {
		return nil
	}
	all := make(map[string]*T, len(things.names))
	for _, name := range things.names {
		item := things.fields[name]
		if !nameForm.MatchString(name) {
			item.fault("a name has 1 to 63 letters, digits, '.', '_' and '-', and begins with a letter or digit")
		}
		all[name] = new(T)
		if thing, ok := item.object(); ok {
			all[name] = read(thing, name)
			thing.done()
		}
	}
	return all
}

// each reads a list of things; nil when it is left out, never when it is
// empty. What is no mapping is the zero thing, to keep the indexes.
func each[T any](o object, field string, read func(object) *T) []*T {
	items, ok := o.list(field)
	if !ok {
		return nil
	}
	all := make([]*T, len(items))
	for i, item := range items {
		all[i] = new(T)
		if thing, ok := item.object(); ok {
			all[i] = read(thing)
			thing.done()
		}
	}
	return all
}
