package collapse_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/collapse"
)

func Example() {
	prices := collapse.New(collapse.Options{}) // with Redis: all instances share
	defer prices.Close()

	policy := collapse.Policy{
		Times:       collapse.Times{Fresh: time.Minute, IfError: time.Hour},
		NegativeTTL: time.Second,
		Timeout:     5 * time.Second,
	}
	ask := func(ctx context.Context, stored *collapse.Stored) (collapse.Answer, error) {
		return collapse.Answer{Value: []byte("3.20 EUR")}, nil // call the origin here
	}
	result, err := prices.Do(context.Background(), collapse.Key{Origin: "shop", Read: "/price?of=pear"}, policy, ask)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s (%s)\n", result.Value, result.Outcome)
	// Output: 3.20 EUR (miss)
}
