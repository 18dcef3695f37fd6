package ingest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
)

func TestCallersPolicy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.doc.Callers = []*policy.Caller{
		{Match: "shop@*", Keys: []string{"lane-shop*"}, Allow: []policy.Action{policy.Submit, policy.Read}},
		{Match: "bob@shop.example", Keys: []string{"lane-shop*"}, Allow: []policy.Action{policy.Operate}},
		{Match: "*@ops.example", Keys: []string{"*"}, Allow: []policy.Action{policy.Operate, policy.Read, policy.Fetch}},
	}
	c := b.config
	c.Caller = func(h http.Header, _ time.Time) (string, error) {
		if who := h.Get("Authorization"); who != "" {
			return who, nil
		}
		return "", errors.New("no bearer token")
	}
	b.serve(c)
	const id = "/requests/aaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, tt := range []struct {
		who   string
		may   []string
		mayNo []string
	}{
		{"shop@a.example", []string{"POST lane-shop-1/requests", "GET lane-shop-1" + id, "GET lane-shop-1", "GET lane-shop-1/journal"},
			[]string{"POST lane-other/requests", "GET lane-other", "GET lane-other/journal", "DELETE lane-shop-1" + id, "POST lane-shop-1/pause"}},
		{"ann@ops.example", []string{"POST lane-shop-1/pause", "POST lane-shop-1/resume", "DELETE lane-shop-1" + id, "GET lane-other"},
			[]string{"POST lane-shop-1/requests"}},
		{"bob@shop.example", []string{"POST lane-shop-1/pause", "POST lane-shop-1/resume"}, []string{"POST lane-other/pause"}},
		{"eve@a.example", nil, []string{"GET lane-shop-1", "POST lane-shop-1/requests", "POST lane-shop-1/purge"}},
		{"", nil, []string{"GET lane-shop-1"}},
	} {
		ask := func(call string) int {
			method, path, _ := strings.Cut(call, " ")
			w := b.call(method, "/v1/lanes/"+path, "", header{"Authorization", tt.who})
			if w.Code == http.StatusForbidden {
				wantProblem(t, w, http.StatusForbidden, problem.Forbidden)
			}
			return w.Code
		}
		for _, call := range tt.may {
			if code := ask(call); code == http.StatusForbidden {
				t.Errorf("%s may not %s", tt.who, call)
			}
		}
		for _, call := range tt.mayNo {
			if code := ask(call); code != http.StatusForbidden {
				t.Errorf("%q may %s: %d, want 403", tt.who, call, code)
			}
		}
	}
	for who, want := range map[string]int{"ann@ops.example": 200, "bob@shop.example": 403, "shop@a.example": 403} {
		for _, path := range []string{"/v1/targets/work/pause", "/v1/targets/work/resume"} {
			if w := b.call("POST", path, "", header{"Authorization", who}); w.Code != want {
				t.Errorf("%s: POST %s: %d, want %d: a target is that of all lanes", who, path, w.Code, want)
			}
		}
	}
	for call, want := range map[string]int{"GET /v1/fetch/shop/x": 403, "GET /v1/health": 200, "GET /v1/nothing": 404} {
		method, path, _ := strings.Cut(call, " ")
		if w := b.call(method, path, "", header{"Authorization", "shop@a.example"}); w.Code != want {
			t.Errorf("%s: %d, want %d", call, w.Code, want)
		}
	}
}
