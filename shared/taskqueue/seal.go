package taskqueue

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Seal encodes e, in this code's Version, and signs it with the first key. Mac
// is the value of MACHeader. Errors: ErrMalformed as [Envelope.Validate] says
// or for a year above 9999, ErrTooLarge above MaxSealed bytes, and one of its
// own when there are no keys.
func (k Keys) Seal(e Envelope) (body []byte, mac string, err error) {
	if k.Empty() {
		return nil, "", errors.New("seal envelope: no HMAC keys")
	}
	if err := e.Validate(); err != nil {
		return nil, "", fmt.Errorf("seal envelope: %w", err)
	}
	e.V = Version
	e.Submitted, e.Deadline = e.Submitted.UTC(), e.Deadline.UTC()
	body, err = json.Marshal(e)
	if err != nil {
		return nil, "", fmt.Errorf("seal envelope: %w: %w", ErrMalformed, err)
	}
	if len(body) > MaxSealed {
		return nil, "", fmt.Errorf("seal envelope: %w: %d bytes, the most is %d", ErrTooLarge, len(body), MaxSealed)
	}
	return body, k.sign(body), nil
}

// Open verifies the MAC of a task's body, then decodes it. Errors: ErrMAC, and
// only under a right MAC ErrVersion (a newer format, or a kind that this code
// does not know) or ErrMalformed. Fields that this code does not know are
// ignored: a change that old code must not ignore raises Version.
func (k Keys) Open(body []byte, mac string) (Envelope, error) {
	if !k.verify(body, mac) {
		return Envelope{}, fmt.Errorf("open envelope: %w", ErrMAC)
	}
	var head struct {
		V    int  `json:"v"`
		Kind Kind `json:"kind"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return Envelope{}, fmt.Errorf("open envelope: %w: %w", ErrMalformed, err)
	}
	switch {
	case head.V < 1:
		return Envelope{}, fmt.Errorf("open envelope: %w: no version", ErrMalformed)
	case head.V > Version:
		return Envelope{}, fmt.Errorf("open envelope: %w: version %d, the newest known is %d", ErrVersion, head.V, Version)
	case head.Kind != "" && !head.Kind.known():
		return Envelope{}, fmt.Errorf("open envelope: %w: unknown kind %q", ErrVersion, head.Kind)
	}
	var e Envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return Envelope{}, fmt.Errorf("open envelope: %w: %w", ErrMalformed, err)
	}
	if err := e.Validate(); err != nil {
		return Envelope{}, fmt.Errorf("open envelope: %w", err)
	}
	return e, nil
}

func (k Kind) known() bool { return k == KindRequest || k == KindKick || k == KindFlush }
