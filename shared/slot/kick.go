package slot

import "context"

// Kick asks for the right to create the lane's one kick, to run at the Redis instant at (milliseconds). seq is 0 when one that
// comes early enough is under way; otherwise the caller creates the task of kick seq for the returned instant. owner is a
// nonce of the caller. See Reserve for errors.
func (s *Store) Kick(ctx context.Context, lane Lane, incarnation, at int64, owner string) (seq, when int64, err error) {
	r, err := s.run(ctx, kickScript, lane, nil, incarnation, at, owner)
	if err != nil {
		return 0, 0, err
	}
	return r.int("seq"), r.int("at"), r.err
}
