package policy

import (
	"maps"
	"slices"
)

// notBuilt refuses what the document may say by API.md, but nothing obeys
// yet: better no start than a promise that is not kept. Whoever builds one of
// them deletes its lines here.
func (d *decoder) notBuilt(doc *Document) {
	root := value{d: d}
	targets := value{d: d, path: "targets"}
	for _, name := range slices.Sorted(maps.Keys(doc.Targets)) {
		if doc.Targets[name].MaxConcurrent != 0 {
			target := value{d: d, path: targets.child(name)}
			d.fault(target.child("max_concurrent"), "is not built yet: remove it")
		}
	}
	if doc.Callers != nil {
		d.fault(root.child("callers"), "rules for callers are not built yet: remove them")
	}
}
