package engine

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// copyField copies the field at a dotted path (snake_case or camelCase) from
// one message to another of its type.
func copyField(to, from protoreflect.Message, path string) error {
	name, rest, nested := strings.Cut(path, ".")
	fields := to.Descriptor().Fields()
	field := fields.ByName(protoreflect.Name(name))
	if field == nil {
		field = fields.ByJSONName(name)
	}
	if field == nil || nested && (field.Message() == nil || field.IsList() || field.IsMap()) {
		return invalid("Invalid update_mask: %q is not a field of %s.", path, to.Descriptor().Name())
	}
	if nested {
		return copyField(to.Mutable(field).Message(), from.Get(field).Message(), rest)
	}
	if !from.Has(field) {
		to.Clear(field)
		return nil
	}
	to.Set(field, from.Get(field))
	return nil
}
