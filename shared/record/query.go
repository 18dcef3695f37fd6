package record

import (
	"context"

	"cloud.google.com/go/firestore"
)

// List returns a page of at most size records of a lane, 1 to MaxPage, in
// ticket order; only those of status, unless it is empty. token is empty for
// the first page, else the Next of the one before.
func (s *Firestore) List(ctx context.Context, key string, status Status, size int, token string) (Page, error) {
	l, err := newList(key, status, false, size, token)
	if err != nil {
		return Page{}, err
	}
	return s.page(ctx, l)
}

// DeadLetters returns a page of at most size dead records of a lane, 1 to
// MaxPage, the last finished first; token as in List.
func (s *Firestore) DeadLetters(ctx context.Context, key string, size int, token string) (Page, error) {
	l, err := newList(key, Dead, true, size, token)
	if err != nil {
		return Page{}, err
	}
	return s.page(ctx, l)
}

func (s *Firestore) page(ctx context.Context, l list) (page Page, err error) {
	err = s.call(ctx, "list", func(ctx context.Context, c *firestore.CollectionRef) error {
		snapshots, err := l.query(c).Documents(ctx).GetAll()
		if err != nil {
			return err
		}
		for i, snapshot := range snapshots {
			r, err := decode(snapshot)
			if err != nil {
				return err
			}
			if snapshot.ReadTime.Before(r.ExpireAt) && i < l.size {
				page.Records = append(page.Records, r)
			}
			if i == l.size-1 && len(snapshots) > l.size {
				page.Next = l.at(r).token()
			}
		}
		return nil
	})
	return page, err
}

// query asks for one document more than the page holds, to know whether there
// is a next one.
func (l list) query(c *firestore.CollectionRef) firestore.Query {
	q := c.Select(small...).Where("lane", "==", l.key).Limit(l.size + 1)
	if l.status != "" {
		q = q.Where("status", "==", string(l.status))
	}
	if l.newest {
		q = q.OrderBy("finished", firestore.Desc).OrderBy(firestore.DocumentID, firestore.Desc)
	} else {
		q = q.OrderBy("ticket", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc)
	}
	switch {
	case l.after == (position{}):
		return q
	case l.newest:
		return q.StartAfter(l.after.Finished, l.after.Name)
	default:
		return q.StartAfter(l.after.Ticket, l.after.Name)
	}
}
