# ---- log-based metrics: what no metric of Google's says ---------------------------------------------------------------

locals {
  metric_prefix = replace(var.name, "-", "_")
  log_of = {
    ingest   = "resource.type=\"cloud_run_revision\" resource.labels.service_name=\"${local.ingest_name}\""
    executor = "resource.type=\"cloud_run_revision\" resource.labels.service_name=\"${local.executor_name}\""
    both     = "resource.type=\"cloud_run_revision\" resource.labels.service_name=(\"${local.ingest_name}\" OR \"${local.executor_name}\")"
  }

  # Counters of log lines, by what they are called on the dashboard; labels take few values, so never a key or an id.
  counters = {
    attempts = {
      description = "Runs that ended, by outcome (done, retry, dead, parked) and the reason of a failure"
      filter      = "${local.log_of.both} jsonPayload.message=\"attempt ended\""
      labels      = { outcome = "EXTRACT(jsonPayload.outcome)", reason = "EXTRACT(jsonPayload.reason)" }
    }
    failed_requests = {
      description = "Requests that ingest answered 5xx, by problem"
      filter      = "${local.log_of.ingest} jsonPayload.message=\"request failed\" jsonPayload.status>=500"
      labels      = { problem = "EXTRACT(jsonPayload.problem)" }
    }
    failed_scripts = {
      description = "Lane scripts that failed at the executor, by operation: Redis out of reach, full or of another generation"
      filter      = "${local.log_of.executor} jsonPayload.message=\"lane scripts failed\""
      labels      = { operation = "EXTRACT(jsonPayload.operation)" }
    }
    unwritten_records = {
      description = "Records that Firestore did not take when they ended: a flush task takes them, or none can"
      filter      = "${local.log_of.both} jsonPayload.message=(\"record not written through: a flush task takes it\" OR \"record not flushed yet\" OR \"record in Redis alone: its task stays\" OR \"record cannot be made durable\" OR \"record dropped: it cannot be made durable\")"
      labels      = { what = "EXTRACT(jsonPayload.message)" }
    }
    wrong_macs = {
      description = "Deliveries with a wrong MAC"
      filter      = "${local.log_of.executor} jsonPayload.message=\"task with a wrong MAC: compare SERIATIM_ENVELOPE_KEY of ingest and executor\""
      labels      = {}
    }
    refused_callers = {
      description = "Calls of the executor whose token is not that of Cloud Tasks or Cloud Scheduler"
      filter      = "${local.log_of.executor} jsonPayload.message=\"call refused: its token does not say that it is from Cloud Tasks or Cloud Scheduler\""
      labels      = {}
    }
    unusable_tasks = {
      description = "Tasks that the executor could not use"
      filter      = "${local.log_of.executor} jsonPayload.message=(\"task from newer code: deploy that version of the executor\" OR \"task dropped: it cannot be decoded\" OR \"task of a key that no lane policy matches\" OR \"task of a kind that this version does not handle\")"
      labels      = { what = "EXTRACT(jsonPayload.message)" }
    }
    missing_tasks = {
      description = "Heads whose task the queue does not have: voided, or too many to be believed"
      filter      = "${local.log_of.executor} jsonPayload.message=(\"head voided: the queue does not have its task\" OR \"too many missing heads: voiding stopped, look at the queue\")"
      labels      = { what = "EXTRACT(jsonPayload.message)" }
    }
    swept_lanes = {
      description = "Lanes that the sweep found standing although they could go on, by cause"
      filter      = "${local.log_of.executor} jsonPayload.message=\"lane swept\""
      labels      = { cause = "EXTRACT(jsonPayload.cause)" }
    }
    dead_letters = {
      description = "Requests given up, by the reason: that of the last failure, or deadline"
      filter      = "${local.log_of.both} jsonPayload.message=(\"attempt ended\" OR \"request died waiting\") jsonPayload.outcome=\"dead\""
      labels      = { reason = "EXTRACT(jsonPayload.reason)" }
    }
    standing_lanes = {
      description = "Looks at lanes that stand until an operator speaks, by why (parked, unknown)"
      filter      = "${local.log_of.both} jsonPayload.message=\"lane stands until an operator speaks\""
      labels      = { why = "EXTRACT(jsonPayload.why)" }
    }
    redis_losses = {
      description = "Losses of Redis, once per instance that notices, by cause"
      filter      = "${local.log_of.both} jsonPayload.message=\"redis was lost or rolled back: a new generation begins with a quarantine\""
      labels      = { cause = "EXTRACT(jsonPayload.cause)" }
    }
  }

  # Distributions of a number in log lines, in milliseconds.
  distributions = {
    slip = {
      description = "How much later than it could have a request started"
      filter      = "${local.log_of.both} jsonPayload.message=\"attempt ended\" jsonPayload.slip_ms>=0"
      value       = "EXTRACT(jsonPayload.slip_ms)"
    }
    age = {
      description = "Age of a request, from its submission, when a run of it ended"
      filter      = "${local.log_of.both} jsonPayload.message=\"attempt ended\" jsonPayload.age_ms>=0"
      value       = "EXTRACT(jsonPayload.age_ms)"
    }
  }
}

resource "google_logging_metric" "counter" {
  for_each = local.counters

  name             = "${local.metric_prefix}_${each.key}"
  filter           = each.value.filter
  label_extractors = each.value.labels

  metric_descriptor {
    metric_kind  = "DELTA"
    value_type   = "INT64"
    display_name = each.value.description

    dynamic "labels" {
      for_each = each.value.labels

      content {
        key        = labels.key
        value_type = "STRING"
      }
    }
  }

  depends_on = [google_project_service.this["logging"]]
}

resource "google_logging_metric" "distribution" {
  for_each = local.distributions

  name            = "${local.metric_prefix}_${each.key}"
  filter          = each.value.filter
  value_extractor = each.value.value

  metric_descriptor {
    metric_kind  = "DELTA"
    value_type   = "DISTRIBUTION"
    unit         = "ms"
    display_name = each.value.description
  }

  # 1 ms to 29 days (2^31.2 ms), each bucket half as wide again.
  bucket_options {
    exponential_buckets {
      scale              = 1
      growth_factor      = 1.5
      num_finite_buckets = 54
    }
  }

  depends_on = [google_project_service.this["logging"]]
}

# ---- what dashboard and alerts look at --------------------------------------------------------------------------------

locals {
  series = merge(
    { for name, metric in google_logging_metric.counter : name => "metric.type=\"logging.googleapis.com/user/${metric.name}\" resource.type=\"cloud_run_revision\"" },
    { for name, metric in google_logging_metric.distribution : name => "metric.type=\"logging.googleapis.com/user/${metric.name}\" resource.type=\"cloud_run_revision\"" },
    {
      queue_depth    = "metric.type=\"cloudtasks.googleapis.com/queue/depth\" resource.type=\"cloud_tasks_queue\" resource.labels.queue_id=\"${google_cloud_tasks_queue.this.name}\""
      dispatches     = "metric.type=\"cloudtasks.googleapis.com/queue/task_attempt_count\" resource.type=\"cloud_tasks_queue\" resource.labels.queue_id=\"${google_cloud_tasks_queue.this.name}\""
      dispatch_delay = "metric.type=\"cloudtasks.googleapis.com/queue/task_attempt_delays\" resource.type=\"cloud_tasks_queue\" resource.labels.queue_id=\"${google_cloud_tasks_queue.this.name}\""
      redis_memory   = "metric.type=\"redis.googleapis.com/stats/memory/usage_ratio\" resource.type=\"redis_instance\" resource.labels.instance_id=\"${google_redis_instance.this["lanes"].id}\""
      requests       = "metric.type=\"run.googleapis.com/request_count\" resource.type=\"cloud_run_revision\" resource.labels.service_name=\"${local.ingest_name}\""
      crashes        = "metric.type=\"run.googleapis.com/request_count\" resource.type=\"cloud_run_revision\" resource.labels.service_name=monitoring.regex.full_match(\"${local.ingest_name}|${local.executor_name}\") metric.labels.response_code=\"500\""
    }
  )

  # Each alert's name is that of its runbook: <runbook_url>#runbook-<name>. Severity CRITICAL: requests stand or may be lost to
  # view; WARNING: somebody should look today. Thresholds of counters are per five minutes.
  alert_policies = {
    queue-depth     = { title = "Many tasks wait", severity = "WARNING", filter = local.series.queue_depth, aligner = "ALIGN_MEAN", reducer = "REDUCE_SUM", above = var.alerts.queue_depth, duration = "600s" }
    late-dispatches = { title = "Cloud Tasks dispatches late", severity = "WARNING", filter = local.series.dispatch_delay, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_99", above = var.alerts.dispatch_delay_seconds * 1000, duration = "600s" }
    redis-memory    = { title = "Redis fills up", severity = "CRITICAL", filter = local.series.redis_memory, aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", above = var.redis.memory_alert_ratio, duration = "300s" }
    redis-away      = { title = "Lane scripts fail", severity = "CRITICAL", filter = local.series.failed_scripts, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 5, duration = "0s" }
    firestore-away  = { title = "Records are not written to Firestore", severity = "WARNING", filter = local.series.unwritten_records, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 5, duration = "0s" }
    failed-requests = { title = "Ingest answers 5xx", severity = "CRITICAL", filter = local.series.failed_requests, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 5, duration = "0s" }
    crashes         = { title = "A function answers 500: misconfigured or crashed", severity = "CRITICAL", filter = local.series.crashes, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    wrong-mac       = { title = "Tasks with a wrong MAC", severity = "CRITICAL", filter = local.series.wrong_macs, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    refused-caller  = { title = "Somebody else calls the executor", severity = "WARNING", filter = local.series.refused_callers, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    unusable-task   = { title = "Tasks that the executor cannot use", severity = "CRITICAL", filter = local.series.unusable_tasks, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    missing-task    = { title = "The queue does not have a head's task", severity = "CRITICAL", filter = local.series.missing_tasks, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    lane-stands     = { title = "Lanes stand until an operator speaks", severity = "CRITICAL", filter = local.series.standing_lanes, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    redis-lost      = { title = "Redis was lost or rolled back", severity = "WARNING", filter = local.series.redis_losses, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
    dead-letters    = { title = "Requests given up", severity = "WARNING", filter = local.series.dead_letters, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = var.alerts.dead_letters, duration = "0s" }
    swept-lanes     = { title = "The sweep had to start lanes", severity = "WARNING", filter = local.series.swept_lanes, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", above = 0, duration = "0s" }
  }
}

resource "google_monitoring_alert_policy" "this" {
  for_each = local.alert_policies

  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  severity              = each.value.severity
  notification_channels = var.notification_channels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter          = each.value.filter
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.above
      duration        = each.value.duration

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.reducer
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "What to do: ${var.runbook_url}#runbook-${each.key}"

    links {
      display_name = "Runbook"
      url          = "${var.runbook_url}#runbook-${each.key}"
    }
  }
}
