locals {
  # What Google allows: https://cloud.google.com/tasks/docs/quotas, https://cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues#RateLimits
  queue_quota = {
    dispatches_per_second = 500
    concurrent_dispatches = 5000
    dispatch_deadline     = 1800
  }

  # Timeouts of targets and origins, in seconds, with their defaults and bounds as the code has them. 0 is no duration, and is
  # refused.
  document = try(yamldecode(file(var.config_file)), {})
  timeouts = { for kind, default in { targets = 60, origins = 5 } : kind => {
    for name, called in try(local.document[kind], {}) : name => try(
      formatdate("DD", timeadd("2000-01-01T00:00:00Z", called.timeout)) == "01"
      ? sum([for unit, seconds in { h = 3600, m = 60, s = 1 } : tonumber(formatdate(unit, timeadd("2000-01-01T00:00:00.999Z", called.timeout))) * seconds])
      : 86400,
      can(called.timeout) ? 0 : default
    )
  } }
  timeout_bounds = { least = 1, most = 1500 }

  # The code derives a task's dispatch deadline in the same way (taskqueue.DispatchDeadline): that of the lanes of the slowest
  # target is the longest. In it a run may wait at the gate, and 10 s for one of a target's places (max_concurrent).
  inline_wait       = 10
  longest_timeout   = min(local.timeout_bounds.most, max(concat([local.timeout_bounds.least], values(local.timeouts.targets))...))
  dispatch_deadline = min(local.inline_wait + 2 * local.longest_timeout + 30, local.queue_quota.dispatch_deadline)
  executor_timeout  = coalesce(var.executor.timeout_seconds, local.dispatch_deadline)

  # What ingest does in one call: a run, and its wait for a place; or a fetch. And 60 s more for a client that waits (Prefer).
  longest_call = min(local.timeout_bounds.most + 10, max(concat([1],
    [for name, seconds in local.timeouts.targets : seconds + (can(local.document.targets[name].max_concurrent) ? 10 : 0)],
    values(local.timeouts.origins),
  )...))
  ingest_timeout = coalesce(var.ingest.timeout_seconds, local.longest_call + 90)

  ingest_name   = "${var.name}-ingest"
  executor_name = "${var.name}-executor"

  # The deterministic form is known before the service exists, so that ingest, which needs the executor's URL, and the executor,
  # which needs its own, make no cycle: https://cloud.google.com/run/docs/triggering/https-request#deterministic
  ingest_url   = "https://${local.ingest_name}-${data.google_project.this.number}.${var.region}.run.app"
  executor_url = "https://${local.executor_name}-${data.google_project.this.number}.${var.region}.run.app"

  deletion_policy = var.protect ? "PREVENT" : "DELETE"

  services = toset([
    "artifactregistry", "cloudbuild", "cloudfunctions", "cloudscheduler", "cloudtasks", "compute", "firestore", "iam", "logging",
    "monitoring", "redis", "run", "secretmanager", "servicenetworking", "storage",
  ])
}

data "google_project" "this" {
  project_id = var.project_id
}

resource "google_project_service" "this" {
  for_each = local.services

  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false # others in the project may use it
}

# What both functions are given alike, and what Terraform never puts there: SERIATIM_AUTH, SERIATIM_TASKS_ENDPOINT and
# SERIATIM_CONFIG_FILE, which are for local use.
locals {
  environment = merge(var.target_environment, {
    SERIATIM_CONFIG                = file(var.config_file)
    SERIATIM_REDIS_CA              = join("\n", flatten([for instance in google_redis_instance.this : instance.server_ca_certs[*].cert]))
    SERIATIM_QUEUE                 = google_cloud_tasks_queue.this.id
    SERIATIM_EXECUTOR_URL          = local.executor_url
    SERIATIM_TASKS_SERVICE_ACCOUNT = google_service_account.tasks.email
    SERIATIM_FIRESTORE             = "projects/${var.project_id}/databases/${google_firestore_database.this.name}"
  })
}
