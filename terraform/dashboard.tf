locals {
  # Charts, in order: title, unit hint, and lines of {legend, filter, aligner, reducer, by}.
  charts = [
    { title = "Requests to ingest, per second", lines = [
      { legend = "by status class", filter = local.series.requests, aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["metric.labels.response_code_class"] },
    ] },
    { title = "Waiting: tasks in the queue", lines = [
      { legend = "tasks", filter = local.series.queue_depth, aligner = "ALIGN_MEAN", reducer = "REDUCE_SUM", by = [] },
    ] },
    { title = "Oldest age: from submission to the end of a run, ms", lines = [
      { legend = "oldest (p99)", filter = local.series.age, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_99", by = [] },
      { legend = "p50", filter = local.series.age, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_50", by = [] },
    ] },
    { title = "Slip of starts, ms", lines = [
      { legend = "p50", filter = local.series.slip, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_50", by = [] },
      { legend = "p99", filter = local.series.slip, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_99", by = [] },
    ] },
    { title = "Lateness of Cloud Tasks' dispatches, ms", lines = [
      { legend = "p50", filter = local.series.dispatch_delay, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_50", by = [] },
      { legend = "p99", filter = local.series.dispatch_delay, aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_99", by = [] },
    ] },
    { title = "Runs, per second, by outcome (retries, dead letters)", lines = [
      { legend = "runs", filter = local.series.attempts, aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["metric.labels.outcome"] },
    ] },
    { title = "Dead letters, and looks at lanes that stand until an operator speaks", lines = [
      { legend = "dead", filter = local.series.dead_letters, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.labels.reason"] },
      { legend = "stands", filter = local.series.standing_lanes, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.labels.why"] },
    ] },
    { title = "Swept lanes and missing tasks", lines = [
      { legend = "swept", filter = local.series.swept_lanes, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.labels.cause"] },
      { legend = "missing", filter = local.series.missing_tasks, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
    ] },
    { title = "Records that Firestore did not take", lines = [
      { legend = "records", filter = local.series.unwritten_records, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.labels.what"] },
    ] },
    { title = "Refused: callers, MACs, tasks", lines = [
      { legend = "callers", filter = local.series.refused_callers, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
      { legend = "MACs", filter = local.series.wrong_macs, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
      { legend = "tasks", filter = local.series.unusable_tasks, aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
    ] },
    { title = "Redis memory in use, share", lines = [
      { legend = "share", filter = local.series.redis_memory, aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = [] },
    ] },
  ]

  widgets = concat(
    [for chart in local.charts : {
      title = chart.title
      xyChart = {
        dataSets = [for line in chart.lines : {
          plotType       = "LINE"
          legendTemplate = line.legend
          timeSeriesQuery = { timeSeriesFilter = {
            filter = line.filter
            aggregation = {
              alignmentPeriod    = "60s"
              perSeriesAligner   = line.aligner
              crossSeriesReducer = line.reducer
              groupByFields      = line.by
            }
          } }
        }]
      }
    }],
    # Dispatches of all kinds per run of the executor: 1.0 is ideal.
    [{
      title = "Dispatch ratio: dispatches per run"
      xyChart = {
        dataSets = [{
          plotType       = "LINE"
          legendTemplate = "dispatches per run"
          timeSeriesQuery = { timeSeriesFilterRatio = {
            numerator   = { filter = local.series.dispatches, aggregation = { alignmentPeriod = "300s", perSeriesAligner = "ALIGN_RATE", crossSeriesReducer = "REDUCE_SUM" } }
            denominator = { filter = "${local.series.attempts} resource.labels.service_name=\"${local.executor_name}\"", aggregation = { alignmentPeriod = "300s", perSeriesAligner = "ALIGN_RATE", crossSeriesReducer = "REDUCE_SUM" } }
          } }
        }]
      }
    }]
  )
}

resource "google_monitoring_dashboard" "this" {
  dashboard_json = jsonencode({
    displayName = "Seriatim: ${var.name}"
    gridLayout  = { columns = "2", widgets = local.widgets }
  })

  depends_on = [google_project_service.this["monitoring"]]
}
