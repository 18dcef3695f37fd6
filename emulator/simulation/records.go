package simulation

import (
	"context"

	"github.com/seriatim/seriatim/shared/record"
)

// records are the durable records as an instance reaches them: over a network that loses, delays and repeats.
type records struct{ in *instance }

// Put is record.Firestore's.
func (s *records) Put(ctx context.Context, r record.Record) (record.Record, error) {
	return script(&slots{s.in}, ctx, "put", r.ID+" "+s.in.name, func() (record.Record, error) {
		return s.in.world.records.Put(ctx0, r)
	})
}

// Delete, List and DeadLetters are record.Firestore's; nothing here redrives or lists.
func (s *records) Delete(context.Context, string, string, int64) error { return nil }

func (s *records) List(context.Context, string, record.Status, int, string) (record.Page, error) {
	return record.Page{}, nil
}

func (s *records) DeadLetters(context.Context, string, int, string) (record.Page, error) {
	return record.Page{}, nil
}

// stored packs the answer of Get.
type stored struct {
	record.Record
	found bool
}

// Get is record.Firestore's.
func (s *records) Get(ctx context.Context, key, id string) (record.Record, bool, error) {
	got, err := script(&slots{s.in}, ctx, "get", id+" "+s.in.name, func() (got stored, err error) {
		got.Record, got.found, err = s.in.world.records.Get(ctx0, key, id)
		return got, err
	})
	return got.Record, got.found, err
}
