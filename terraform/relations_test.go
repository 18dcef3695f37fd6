package terraform_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// mutation breaks one relation in the configuration; the assertion with that text must then fail.
type mutation struct{ file, old, with, fails string }

var mutations = []mutation{
	{"queue.tf", `"${var.name}-${random_id.queue.hex}"`, `"${var.name}-queue"`, "The queue's name does not end"},
	{"queue.tf", `max_attempts       = -1`, `max_attempts = 100`, "Attempts are not unlimited"},
	{"queue.tf", `max_backoff        = "10s"`, `max_backoff = "3600s"`, "The queue's backoff is not"},
	{"queue.tf", `deletion_policy = local.deletion_policy`, `deletion_policy = "DELETE"`, "What holds data is not protected"},
	{"queue.tf", `max_concurrent_dispatches = var.queue.max_concurrent_dispatches`, `max_concurrent_dispatches = 1601`, "Cloud Tasks may deliver more at once"},
	{"redis.tf", `"noeviction"`, `"volatile-lru"`, "Redis may evict"},
	{"redis.tf", `auth_enabled            = true`, `auth_enabled = false`, "Redis asks for no password"},
	{"redis.tf", `"SERVER_AUTHENTICATION"`, `"DISABLED"`, "Redis is reached without TLS"},
	{"redis.tf", `"RDB"`, `"DISABLED"`, "Redis has no replica"},
	{"secrets.tf", `urlencode(google_redis_instance.this[each.key].auth_string)`, `google_redis_instance.this[each.key].auth_string`, "The URL of Redis is not"},
	{"function_ingest.tf", `var.invokers`, `concat(var.invokers, ["allUsers"])`, "Others than the invokers"},
	{"function_executor.tf", `[google_service_account.tasks.member,`, `[google_service_account.ingest.member, google_service_account.tasks.member,`, "Others than the task and sweep accounts"},
	{"function_executor.tf", `"ALLOW_INTERNAL_ONLY"`, `"ALLOW_ALL"`, "The executor can be reached from outside"},
	{"main.tf", `= google_service_account.tasks.email`, `= google_service_account.ingest.email`, "The functions are not told the task account"},
	{"main.tf", `= local.executor_url`, `= local.ingest_url`, "SERIATIM_EXECUTOR_URL, the audience"},
	{"firestore.tf", `"${var.name}-records"`, `"db1"`, "SERIATIM_FIRESTORE is not the database"},
	{"firestore.tf", `${google_firestore_database.this.id}`, `projects/p/databases/other`, "The functions may use every database"},
	{"function_executor.tf", `google_service_account.sweep.email`, `google_service_account.build.email`, "The executor is not told the account"},
	{"sweep.tf", `audience              = local.executor_url`, `audience = "https://elsewhere.example"`, "The sweep's token is not for the executor"},
	{"function_ingest.tf", `service_account_id = google_service_account.tasks.name`, `service_account_id = google_service_account.sweep.name`, "Who creates tasks may not act"},
	{"function_ingest.tf", `= google_service_account.ingest.email`, `= google_service_account.executor.email`, "An edge shares its account"},
	{"function_executor.tf", `= local.executor_timeout`, `= 129`, "A run of the slowest target does not fit the executor's"},
	{"function_ingest.tf", `= local.ingest_timeout`, `= 149`, "A run of the slowest target does not fit ingest's"},
	{"function_ingest.tf", `"go126"`, `"go125"`, "A function has another runtime"},
	{"function_executor.tf", `[local.function_tag]`, `["other"]`, "The functions do not reach Redis"},
	{"function_executor.tf", `merge(local.environment, {`, `merge(local.environment, { SERIATIM_REDIS_URL = "rediss://:secret@host"`, "A secret stands in"},
	{"outputs.tf", `= google_cloud_tasks_queue.this.id`, `= nonsensitive(google_redis_instance.this["lanes"].auth_string)`, "An output shows a secret"},
	{"source.tf", `"enforced"`, `"inherited"`, "The bucket of sources could be made public"},
	{"function_ingest.tf", `google_storage_bucket_object.source["ingest"]`, `google_storage_bucket_object.source["executor"]`, "A function is not deployed from the object"},
	{"alerts.tf", `url          = "${var.runbook_url}#`, `url = "https://elsewhere.example/#`, "An alert links to no runbook"},
}

// others break what a mutation above already changes.
var others = []mutation{
	{"function_executor.tf", `= local.executor_timeout`, `= 221`, "The executor's timeout is longer than the dispatch deadline"},
}

func TestEveryRelationIsHeldByAnAssertion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(relations)
	if err != nil {
		t.Fatal(err)
	}
	asserted := regexp.MustCompile(`error_message = "(.*)"`).FindAllStringSubmatch(string(text), -1)
	for _, m := range asserted {
		covered := false
		for _, mutation := range append(mutations, others...) {
			covered = covered || strings.HasPrefix(m[1], mutation.fails)
		}
		if !covered {
			t.Errorf("no mutation shows that this assertion can fail: %s", m[1])
		}
	}
	for _, batch := range [][]mutation{mutations, others} {
		t.Run(batch[0].fails, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, false)
			for _, m := range batch {
				tr.replace("terraform/"+m.file, m.old, m.with)
			}
			tr.init()
			out, err := tr.terraform("test", "-json", "-filter="+relations)
			if err == nil {
				t.Fatal("the mutated configuration passes its tests")
			}
			said := messages(out)
			for _, m := range batch {
				if !strings.Contains(said, m.fails) {
					t.Errorf("%s with %q passes, want a failure: %s...", m.file, m.with, m.fails)
				}
			}
			if got := strings.Count(said, "Test assertion failed"); got != len(batch) {
				t.Errorf("%d assertions failed, want %d:\n%s", got, len(batch), said)
			}
		})
	}
}
