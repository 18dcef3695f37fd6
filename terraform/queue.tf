# The one queue. Its name ends in a random suffix, since the name of a deleted queue stays taken for days.
resource "random_id" "queue" {
  byte_length = 3
  keepers     = { name = var.name, region = var.region }
}

resource "google_cloud_tasks_queue" "this" {
  name     = "${var.name}-${random_id.queue.hex}"
  location = var.region

  rate_limits {
    max_dispatches_per_second = var.queue.max_dispatches_per_second
    max_concurrent_dispatches = var.queue.max_concurrent_dispatches
  }

  # Unlimited: a task out of attempts is deleted, and with it the head of a lane. The lane counts attempts itself. Both limits
  # must be reached before a task is dropped, so both are off.
  retry_config {
    max_attempts       = -1
    max_retry_duration = "0s"
    min_backoff        = "1s"
    max_backoff        = "10s"
    max_doublings      = 4
  }

  stackdriver_logging_config {
    sampling_ratio = var.queue.log_sampling_ratio
  }

  # A deleted queue takes every waiting request with it.
  deletion_policy = local.deletion_policy

  depends_on = [google_project_service.this["cloudtasks"]]
}

# The account in whose name Cloud Tasks calls the executor. It has no other right; who creates a task must be allowed to act as it.
resource "google_service_account" "tasks" {
  account_id   = "${var.name}-tasks"
  display_name = "Cloud Tasks calling the executor of ${var.name}"
}

# As with a queue's name, the id of a deleted role stays taken: for 37 days. It takes letters, digits, _ and dots.
locals {
  role_prefix = replace(google_cloud_tasks_queue.this.name, "-", "_")
}

# Predefined roles fit neither function: roles/cloudtasks.enqueuer lacks tasks.get and queues.get, roles/cloudtasks.viewer adds
# the right to list. https://cloud.google.com/iam/docs/roles-permissions/cloudtasks
resource "google_project_iam_custom_role" "ingest_queue" {
  role_id     = "${local.role_prefix}_ingest_queue"
  title       = "${var.name}: create tasks, read those of requests that are given up, and see the queue"
  permissions = ["cloudtasks.queues.get", "cloudtasks.tasks.create", "cloudtasks.tasks.fullView", "cloudtasks.tasks.get"]
}

resource "google_project_iam_custom_role" "executor_queue" {
  role_id     = "${local.role_prefix}_executor_queue"
  title       = "${var.name}: create and read tasks and see the queue"
  permissions = ["cloudtasks.queues.get", "cloudtasks.tasks.create", "cloudtasks.tasks.fullView", "cloudtasks.tasks.get"]
}
