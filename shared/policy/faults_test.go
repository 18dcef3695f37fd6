package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/policy"
)

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	const doc = `
targets:
  t: {url: ftp://x, timeout: 1h, retries: 3}
  bad name: {url: "http://x"}
  u:
lanes:
  - {match: "a*", target: nobody, spacing: fast}
  - {match: "ab*", target: t, spacing: 0s, burst: 0, targets: [u]}
  - x
  - {match: "c", target: t, target: u}
extra: 1
extra: 2
`
	wantFaults(t, doc, []string{
		`extra: is given more than once`,
		`targets.t.url: is not an absolute http:// or https:// URL`,
		`targets.t.timeout: "1h" is out of bounds: want 1s to 25m`,
		`targets.t.retries: is not a field; known are audience, forward, headers, immediate, max_concurrent, method, retry, secret, timeout, url`,
		`targets["bad name"]: a name has 1 to 63 letters, digits, '.', '_' and '-', and begins with a letter or digit`,
		`targets.u: is empty, want a mapping: give a value, or leave the field out for its default`,
		`lanes[0].spacing: "fast" is not a duration: want a number with a unit, such as 250ms, 1.5s or 10m`,
		`lanes[1].burst: is 0, want 1 to 1000`,
		`lanes[2]: want a mapping, got a string`,
		`lanes[3].target: is given more than once`,
		`lanes[3].spacing: is required`,
		`extra: is not a field; known are callers, lanes, log, origins, targets`,
		`lanes[0].target: there is no target "nobody"; known are bad name, t, u`,
		`lanes[1].match: no key gets here: lanes[0], "a*", takes all that "ab*" matches; put the narrower pattern first`,
		`lanes[1].targets: does not hold the lane's own target "t"`,
	})
}

func TestLaneFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fields string
		want   []string
	}{
		{"burst: 1001, concurrency: -1", []string{"lanes[0].burst: is 1001, want 1 to 1000", "lanes[0].concurrency: is -1, want 1 to 1000"}},
		{"burst: '1'", []string{"lanes[0].burst: want an integer, got a string"}},
		{"burst: 1.0", []string{"lanes[0].burst: want an integer, got 1.0"}},
		{"burst: {env: ONE}", []string{"lanes[0].burst: want an integer, got a mapping"}},
		{"max_depth: 18446744073709551615", []string{"lanes[0].max_depth: is 9223372036854775807, want 1 to 1000000"}},
		{"max_depth: 0", []string{"lanes[0].max_depth: is 0, want 1 to 1000000"}},
		{"attempts: 0", []string{"lanes[0].attempts: is 0, want 1 to 10000"}},
		{"lease: 4999ms", []string{`lanes[0].lease: "4999ms" is out of bounds: want 5s to 10m`}},
		{"lease: 10m1ns", []string{`lanes[0].lease: "10m1ns" is out of bounds: want 5s to 10m`}},
		{"lease: 30", []string{"lanes[0].lease: want a string, got 30: put it in quotes"}},
		{"lease: '30'", []string{`lanes[0].lease: "30" is not a duration: want a number with a unit, such as 250ms, 1.5s or 10m`}},
		{"lease: 9999999999999h", []string{`lanes[0].lease: "9999999999999h" is not a duration: want a number with a unit, such as 250ms, 1.5s or 10m`}},
		{"lease: ''", []string{"lanes[0].lease: is an empty string"}},
		{"lease: ~", []string{"lanes[0].lease: is empty, want a string: give a value, or leave the field out for its default"}},
		{"lease: [30s]", []string{"lanes[0].lease: want a string, got a list"}},
		{"retention: 721h", []string{`lanes[0].retention: "721h" is out of bounds: want 1m to 720h`}},
		{"max_age: 0s", []string{`lanes[0].max_age: "0s" is out of bounds: want 1s to 696h`}},
		{"backoff: {min: 2s, max: 1s}", []string{"lanes[0].backoff: min 2s is above max 1s"}},
		{"backoff: {min: 11m}", []string{"lanes[0].backoff: min 11m is above max 10m"}},
		{"backoff: {min: 0s, factor: 2}", []string{
			`lanes[0].backoff.min: "0s" is out of bounds: want 1ms to 24h`, "lanes[0].backoff.factor: is not a field; known are max, min",
		}},
		{"backoff: 1s", []string{"lanes[0].backoff: want a mapping, got a string"}},
		{"respond: later", []string{`lanes[0].respond: "later" is not one of immediate, async`}},
		{"exhausted: drop", []string{`lanes[0].exhausted: "drop" is not one of dead-letter, park`}},
		{"ambiguous: false", []string{"lanes[0].ambiguous: want a string, got false: put it in quotes"}},
		{"durable: 'yes'", []string{"lanes[0].durable: want true or false, got a string"}},
		{"decide: somebody", []string{`lanes[0].decide: "somebody" is not one of redis, firestore`}},
		{"decide: firestore, durable: false", []string{"lanes[0].decide: firestore decides by durable records; say durable: true, or leave decide out"}},
		{"durable: no", []string{"lanes[0].durable: want true or false, got a string"}},
		{"targets: []", []string{`lanes[0].targets: does not hold the lane's own target "t"`}},
		{"targets: t", []string{"lanes[0].targets: want a list, got a string"}},
		{"targets: [t, t, u, 5]", []string{
			"lanes[0].targets[3]: want a string, got 5: put it in quotes",
			`lanes[0].targets[1]: "t" is listed already`, `lanes[0].targets[2]: there is no target "u"; known are t`,
		}},
		{"name: " + strings.Repeat("n", 257), []string{"lanes[0].name: has 257 bytes, want 256 at most"}},
		{"name: &n x", []string{"lanes[0].name: want a string; YAML anchors and tags are not allowed"}},
		{"name: !!str x", []string{"lanes[0].name: want a string; YAML anchors and tags are not allowed"}},
		{"name: *t", []string{"lanes[0].name: want a string; a text that begins with * needs quotes, and YAML aliases are not allowed"}},
		{"<<: {burst: 2}", []string{"lanes[0]: the field name << is not a string; YAML merge keys are not allowed"}},
		{"5: 6", []string{"lanes[0]: the field name 5 is not a string; YAML merge keys are not allowed"}},
		{`"a\nb": 6`, []string{`lanes[0]["a\nb"]: is not a field; known are ambiguous, attempts, backoff, burst, concurrency, decide, durable, ` +
			`exhausted, lease, match, max_age, max_depth, name, respond, retention, spacing, target, targets`}},
		{"name: {env: NOWHERE}", []string{"lanes[0].name: the variable NOWHERE is not set, or empty"}},
		{"name: {env: EMPTY}", []string{"lanes[0].name: the variable EMPTY is not set, or empty"}},
		{"name: {env: 5}", []string{"lanes[0].name.env: want the name of a variable, got 5"}},
		{"name: {env: {env: URL}}", []string{"lanes[0].name.env: want the name of a variable, got a mapping"}},
		{"name: {}", []string{"lanes[0].name: want a string or {env: NAME}, got another mapping"}},
		{"name: {env: URL, default: x}", []string{"lanes[0].name: want a string or {env: NAME}, got another mapping"}},
		{"respond: {env: TOKEN}", []string{"lanes[0].respond: the value of TOKEN is not one of immediate, async"}},
		{"lease: {env: TOKEN}", []string{"lanes[0].lease: the value of TOKEN is not a duration: want a number with a unit, such as 250ms, 1.5s or 10m"}},
	} {
		t.Run(tt.fields, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, lane(tt.fields), tt.want)
		})
	}
}

func TestLanesFaults(t *testing.T) {
	t.Parallel()
	const head = "targets: {t: {url: 'http://x'}}\nlanes:\n"
	for _, tt := range []struct {
		name, lanes string
		want        []string
	}{
		{"an empty lane", "- {}", []string{"lanes[0].match: is required", "lanes[0].target: is required", "lanes[0].spacing: is required"}},
		{"a negative spacing", "- {match: a, target: t, spacing: -1ms}", []string{`lanes[0].spacing: "-1ms" is out of bounds: want 0s to 24h`}},
		{"a long spacing", "- {match: a, target: t, spacing: 25h}", []string{`lanes[0].spacing: "25h" is out of bounds: want 0s to 24h`}},
		{
			"a pattern longer than a key", "- {match: '*" + strings.Repeat("k", 257) + "*', target: t, spacing: 1s}",
			[]string{"lanes[0].match: matches no key: a key has 256 bytes at most"},
		},
		{
			"a pattern of two lines", "- {match: \"a\\nb\", target: t, spacing: 1s}",
			[]string{"lanes[0].match: matches no key: keys have no control characters"},
		},
		{
			"one pattern twice", "- {match: a, target: t, spacing: 1s}\n- {match: a, target: t, spacing: 2s}",
			[]string{`lanes[1].match: no key gets here: lanes[0], "a", takes all that "a" matches; put the narrower pattern first`},
		},
		{
			"one name twice", "- {match: a, name: n, target: t, spacing: 1s}\n- {match: b, name: n, target: t, spacing: 2s}",
			[]string{`lanes[1].name: "n" is the name of lanes[0] already`},
		},
		{
			"a pattern as another's name", "- {match: a, target: t, spacing: 1s}\n- {match: b, name: a, target: t, spacing: 2s}",
			[]string{`lanes[1].name: "a" is the name of lanes[0] already`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, head+tt.lanes+"\n", tt.want)
		})
	}
}

func TestTargetFaults(t *testing.T) {
	t.Parallel()
	const (
		good     = "url: 'http://x', "
		badURL   = "targets.t.url: is not an absolute http:// or https:// URL"
		badKey   = "targets.t.secret: is not the base64 of 24 to 64 bytes, with or without whsec_ before it"
		outcomes = "want a status from 300 to 599, 3xx, 4xx, 5xx, timeout or refused"
	)
	for _, tt := range []struct {
		fields string
		want   []string
	}{
		{"", []string{"targets.t.url: is required"}},
		{"url: /t", []string{badURL}},
		{"url: 'http://'", []string{badURL}},
		{"url: 'http://:80/'", []string{badURL}},
		{"url: 'http://x:hunter2'", []string{badURL}},
		{"url: {env: TOKEN}", []string{badURL}},
		{"url: 'https://u:hunter2@x'", []string{"targets.t.url: holds a user or password: send it as an Authorization header instead"}},
		{"url: 'https://x/#top'", []string{"targets.t.url: has a fragment (#), which is never sent: remove it"}},
		{good + "method: post", []string{`targets.t.method: "post" is not one of POST, GET, PUT, PATCH, DELETE`}},
		{good + "timeout: 999ms", []string{`targets.t.timeout: "999ms" is out of bounds: want 1s to 25m`}},
		{good + "immediate: 0", []string{"targets.t.immediate: want true or false, got 0"}},
		{good + "audience: ''", []string{"targets.t.audience: is an empty string"}},
		{good + "secret: hunter2", []string{badKey}},
		{good + "secret: whsec_aHVudGVyMg==", []string{badKey}},
		{good + "secret: {env: TOKEN}", []string{badKey}},
		{good + "retry: [200, 600, 2xx, 503ms, timeout]", []string{
			"targets.t.retry[0]: is 200, " + outcomes, "targets.t.retry[1]: is 600, " + outcomes,
			`targets.t.retry[2]: is "2xx", ` + outcomes, `targets.t.retry[3]: is "503ms", ` + outcomes,
		}},
		{good + "retry: 5xx", []string{"targets.t.retry: want a list, got a string"}},
		{good + "headers: [Authorization]", []string{"targets.t.headers: want a mapping, got a list"}},
		{good + "headers: {'a b': x, Host: x, seriatim-key: x, Proxy-Authorization: x, X-A: 1, x-B: x, X-b: x}", []string{
			`targets.t.headers["a b"]: is not the name of a header`,
			"targets.t.headers.Host: belongs to the connection and cannot be set",
			"targets.t.headers.seriatim-key: is set by Seriatim itself",
			"targets.t.headers.Proxy-Authorization: belongs to the connection and cannot be set",
			"targets.t.headers.X-A: want a string, got 1: put it in quotes",
			"targets.t.headers.X-b: is given more than once: the case of a header's name does not matter",
		}},
		{good + `headers: {X-A: "hunter2\r\nX-B: y"}`, []string{
			"targets.t.headers.X-A: holds a character that no header may have, such as a line break",
		}},
		{good + "audience: x, headers: {authorization: x}", []string{
			"targets.t.audience: sends an OIDC token as Authorization, which headers sets too: remove one",
		}},
		{good + "headers: {x-a: x}, forward: [X-A, x-b, X-B, 'b c', 5]", []string{
			"targets.t.forward[4]: want a string, got 5: put it in quotes",
			`targets.t.forward[2]: "X-B" is listed already`, `targets.t.forward[3]: "b c" is not the name of a header`,
			`targets.t.forward[0]: "X-A" is in headers too: remove one`,
		}},
	} {
		t.Run(tt.fields, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, target(tt.fields), tt.want)
		})
	}
}

func TestForwardNever(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "AUTHORIZATION", "Cookie", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "TE",
		"Trailer", "Transfer-Encoding", "Upgrade", "Host", "Content-Length", "X-CloudTasks-TaskName", "X-Goog-Iap-Jwt-Assertion",
		"X-Google-Serverless", "Forwarded", "X-Forwarded-For", "X-Serverless-Authorization",
	} {
		wantFaults(t, target("url: 'http://x', forward: ["+name+"]"), []string{
			`targets.t.forward[0]: "` + name + `" is never forwarded`,
		})
	}
	for _, name := range []string{"Seriatim-Key", "seriatim-anything", "webhook-signature", "Content-Type", "Content-Encoding", "Idempotency-Key", "traceparent"} {
		wantFaults(t, target("url: 'http://x', forward: ["+name+"]"), []string{
			`targets.t.forward[0]: "` + name + `" is set by Seriatim itself`,
		})
	}
}

func TestFaultsOfRareFields(t *testing.T) {
	t.Parallel()
	t.Run("origins, callers and limits say what is wrong", func(t *testing.T) {
		t.Parallel()
		wantFaults(t, `
targets: {t: {url: "http://x", max_concurrent: 0}}
lanes: [{match: a, target: t, spacing: 1s}]
origins: {o: {timeout: 0s, ttl: -1s, max_bytes: 2TiB, swr: 1s}, p: {url: "http://p", max_bytes: 64}, q: {url: "http://q", max_bytes: KiB}}
callers: [{allow: [submit, fly]}]
`, []string{
			"targets.t.max_concurrent: is 0, want 1 to 10000",
			"origins.o.url: is required",
			`origins.o.timeout: "0s" is out of bounds: want 1s to 25m`,
			`origins.o.ttl: "-1s" is out of bounds: want 0s to 720h`,
			`origins.o.max_bytes: "2TiB" is not a size: want 1KiB to 1TiB, such as 64MiB`,
			"origins.o.swr: is not a field; known are headers, max_bytes, negative_ttl, stale_if_error, stale_while_revalidate, timeout, ttl, url, vary",
			"origins.p.max_bytes: want a string, got 64: put it in quotes",
			`origins.q.max_bytes: "KiB" is not a size: want 1KiB to 1TiB, such as 64MiB`,
			"callers[0].match: is required",
			`callers[0].allow[1]: "fly" is not one of submit, read, operate, fetch`,
		})
	})

	t.Run("the sample of the log is a share", func(t *testing.T) {
		t.Parallel()
		for text, fault := range map[string]string{
			"{sample: 2}": "log.sample: is 2, want 0 to 1", "{sample: -0.1}": "log.sample: is -0.1, want 0 to 1", "{sample: .nan}": "log.sample: want a number, got .nan",
			"{sample: all}": `log.sample: want a number, got a string`, "{level: info}": "log.level: is not a field; known are sample", "1": "log: want a mapping, got 1",
		} {
			wantFaults(t, shortest+"log: "+text+"\n", []string{fault})
		}
	})

	t.Run("an empty list of callers would shut everybody out", func(t *testing.T) {
		t.Parallel()
		wantFaults(t, shortest+"callers: []\n", []string{"callers: is empty, so nobody could call: name callers, or leave it out to let everybody"})
	})
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	const literal = `
targets:
  t:
    url: http://x
    secret: MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    headers: {authorization: hunter2, X-Api-Key: hunter2, X-Access-Token: hunter2, X-Secret: hunter2, X-Team: blue}
lanes: [{match: a, target: t, spacing: 1s}]
`
	const refused = ": is a secret in clear text, refused on Cloud Run: use {env: NAME}"

	t.Run("a literal secret is accepted on a laptop", func(t *testing.T) {
		t.Parallel()
		mustParse(t, literal)
	})

	t.Run("it is refused in the cloud, and never quoted", func(t *testing.T) {
		t.Parallel()
		wantFaults(t, literal, []string{
			"targets.t.headers.authorization" + refused, "targets.t.headers.X-Api-Key" + refused,
			"targets.t.headers.X-Access-Token" + refused, "targets.t.headers.X-Secret" + refused, "targets.t.secret" + refused,
		}, policy.RefuseLiteralSecrets())
	})

	t.Run("a secret from a variable is accepted in the cloud", func(t *testing.T) {
		t.Parallel()
		doc := mustParse(t, target("url: 'http://x', secret: {env: SECRET}, headers: {Authorization: {env: TOKEN}}"), policy.RefuseLiteralSecrets())
		if diff := cmp.Diff(map[string]string{"Authorization": vars["TOKEN"]}, doc.Targets["t"].Headers); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})

	t.Run("no fault quotes what a variable holds", func(t *testing.T) {
		t.Parallel()
		lookup := environment(map[string]string{"BAD": "hunter2\r\n"})
		const bad = "{env: BAD}"
		for _, doc := range []string{
			target("url: " + bad), target("url: 'http://x', method: " + bad), target("url: 'http://x', timeout: " + bad),
			target("url: 'http://x', secret: " + bad), target("url: 'http://x', headers: {X-A: " + bad + "}"),
			target("url: 'http://x', forward: [" + bad + "]"), target("url: 'http://x', retry: [" + bad + "]"),
			lane("lease: " + bad), lane("respond: " + bad), strings.Replace(lane("burst: 1"), "'*'", bad, 1),
			shortest + "origins: {o: {url: " + bad + ", max_bytes: " + bad + "}}", shortest + "callers: [{allow: [" + bad + "]}]",
		} {
			_, err := policy.Parse([]byte(doc), lookup)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one without the value\n%s", err, doc)
			}
		}
	})
}
