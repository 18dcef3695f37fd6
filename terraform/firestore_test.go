package terraform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/record"
)

func TestFirestoreHasWhatTheCodeDeclares(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	got := map[string]*firestoreconn.Collection{}
	collection := func(r resource) *firestoreconn.Collection {
		name := r.Values["collection"].(string)
		if got[name] == nil {
			got[name] = &firestoreconn.Collection{Name: name}
		}
		return got[name]
	}
	for _, r := range s.of("google_firestore_field") {
		c, field := collection(r), r.Values["field"].(string)
		if ttl, _ := r.Values["ttl_config"].([]any); len(ttl) > 0 {
			c.TTL = field
		}
		if indexes, ok := s.get(t, r.Address, "index_config", 0).(map[string]any)["indexes"].([]any); ok && len(indexes) > 0 {
			t.Errorf("%s gives the field an index", r.Address)
		}
		c.Unindexed = append(c.Unindexed, field)
	}
	for _, r := range s.of("google_firestore_index") {
		var index firestoreconn.Index
		for _, field := range r.Values["fields"].([]any) {
			f := field.(map[string]any)
			index = append(index, firestoreconn.Field{Path: f["field_path"].(string), Descending: f["order"] == "DESCENDING"})
		}
		c := collection(r)
		c.Indexes = append(c.Indexes, index)
	}
	want := map[string]*firestoreconn.Collection{}
	for _, c := range []firestoreconn.Collection{record.Collection, marks.Collection, idempotency.Collection, generation.Collection} {
		if c.TTL != "" || len(c.Unindexed)+len(c.Indexes) > 0 { // else it comes into being with its first document
			want[c.Name] = &c
		}
	}
	unordered := []cmp.Option{
		cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b firestoreconn.Index) bool {
			return slices.CompareFunc(a, b, func(x, y firestoreconn.Field) int { return strings.Compare(x.Path, y.Path) }) < 0
		}),
	}
	if diff := cmp.Diff(want, got, unordered...); diff != "" {
		t.Errorf("collections (-declared by the code +made by Terraform):\n%s", diff)
	}
}
