# Cloud Scheduler has the executor look for lanes that stand although they could go on.
resource "google_service_account" "sweep" {
  account_id   = "${var.name}-sweep"
  display_name = "Cloud Scheduler calling the executor of ${var.name}"
}

resource "google_cloud_scheduler_job" "sweep" {
  name             = "${var.name}-sweep"
  region           = var.region
  schedule         = var.sweep_schedule
  time_zone        = "Etc/UTC"
  attempt_deadline = "60s"

  http_target {
    http_method = "POST"
    uri         = "${local.executor_url}/sweep"

    oidc_token {
      service_account_email = google_service_account.sweep.email
      audience              = local.executor_url
    }
  }

  retry_config {
    retry_count = 0 # the next minute's comes anyway
  }

  depends_on = [google_cloud_run_v2_service_iam_binding.executor_invokers, google_project_service.this["cloudscheduler"]]
}
