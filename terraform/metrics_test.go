package terraform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var extractPattern = regexp.MustCompile(`^EXTRACT\(([A-Za-z_.]+)\)$`)

// try applies a metric to the entries: one must match, and of those one must have every value that the metric takes out.
func try(metric map[string]any, entries []map[string]any) error {
	f, err := parseFilter(metric["filter"].(string))
	if err != nil {
		return err
	}
	extractors := map[string]string{}
	if v, _ := metric["value_extractor"].(string); v != "" {
		extractors["value"] = v
	}
	labels, _ := metric["label_extractors"].(map[string]any)
	for name, extractor := range labels {
		extractors[name] = extractor.(string)
	}
	matched := slices.DeleteFunc(slices.Clone(entries), func(e map[string]any) bool { return !f.matches(e) })
	if len(matched) == 0 {
		return fmt.Errorf("no line matches %s", metric["filter"])
	}
	for name, extractor := range extractors {
		m := extractPattern.FindStringSubmatch(extractor)
		if m == nil {
			return fmt.Errorf("%s: no extractor: %s", name, extractor)
		}
		if !slices.ContainsFunc(matched, func(e map[string]any) bool { v, ok := at(e, m[1]); return ok && v != "" && v != nil }) {
			return fmt.Errorf("%s: %s is in no line that matches", name, m[1])
		}
	}
	return nil
}

func TestFiltersNameMessagesOfTheCode(t *testing.T) {
	t.Parallel()
	code := literals(t, "../functions", "../shared")
	for _, metric := range deployed(t).of("google_logging_metric") {
		f, err := parseFilter(metric.Values["filter"].(string))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f {
			for _, message := range c.strings {
				if c.path == "jsonPayload.message" && !code[message] {
					t.Errorf("%s looks for %q, which no code logs", metric.Values["name"], message)
				}
			}
		}
	}
}

// googles are the metrics of Google Cloud that dashboard and alerts use: https://cloud.google.com/monitoring/api/metrics_gcp
var googles = []string{
	"cloudtasks.googleapis.com/queue/depth", "cloudtasks.googleapis.com/queue/task_attempt_count",
	"cloudtasks.googleapis.com/queue/task_attempt_delays", "redis.googleapis.com/stats/memory/usage_ratio",
	"run.googleapis.com/request_count",
}

func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	known := slices.Clone(googles)
	for _, metric := range s.of("google_logging_metric") {
		known = append(known, "logging.googleapis.com/user/"+metric.Values["name"].(string))
	}
	texts := map[string]string{"dashboard": s.get(t, "google_monitoring_dashboard.this", "dashboard_json").(string)}
	for _, alert := range s.of("google_monitoring_alert_policy") {
		texts[alert.Address] = s.get(t, alert.Address, "conditions", 0, "condition_threshold", 0, "filter").(string)
	}
	used := map[string]bool{}
	for where, text := range texts {
		names := regexp.MustCompile(`metric\.type=\\?"([^"\\]+)\\?"`).FindAllStringSubmatch(text, -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric: %s", where, text)
		}
		for _, name := range names {
			used[name[1]] = true
			if !slices.Contains(known, name[1]) {
				t.Errorf("%s names %s, which does not exist", where, name[1])
			}
		}
	}
	for _, name := range known {
		if !used[name] {
			t.Errorf("%s is on no dashboard and in no alert", name)
		}
	}
}

func TestTheDashboardShowsWhatOperatorsAskFor(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		GridLayout struct {
			Widgets []json.RawMessage `json:"widgets"`
		} `json:"gridLayout"`
	}
	text := deployed(t).get(t, "google_monitoring_dashboard.this", "dashboard_json").(string)
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	for what, parts := range map[string][]string{
		"waiting":         {"cloudtasks.googleapis.com/queue/depth"},
		"oldest age":      {"user/seriatim_age", "REDUCE_PERCENTILE_99"},
		"dispatch ratio":  {"timeSeriesFilterRatio", "queue/task_attempt_count", "user/seriatim_attempts"},
		"slip":            {"user/seriatim_slip", "REDUCE_PERCENTILE_50", "REDUCE_PERCENTILE_99"},
		"retries, deaths": {"user/seriatim_attempts", "metric.labels.outcome"},
		"dead letters":    {"user/seriatim_dead_letters", "metric.labels.reason"},
		"standing lanes":  {"user/seriatim_standing_lanes", "metric.labels.why"},
		"swept lanes":     {"user/seriatim_swept_lanes"},
		"Redis memory":    {"stats/memory/usage_ratio"},
		"Firestore":       {"user/seriatim_unwritten_records"},
	} {
		if !slices.ContainsFunc(dashboard.GridLayout.Widgets, func(widget json.RawMessage) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(string(widget), part) })
		}) {
			t.Errorf("no chart shows %s: %q", what, parts)
		}
	}
}

func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range deployed(t).of("google_monitoring_alert_policy") {
		heading := fmt.Sprintf("\n### Runbook: %v\n", alert.Index)
		if !strings.Contains(string(readme), heading) {
			t.Errorf("the README has no heading %q for %s", strings.TrimSpace(heading), alert.Address)
		}
	}
}
