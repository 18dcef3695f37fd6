output "ingest_url" {
  description = "Base URL of the API."
  value       = local.ingest_url
}

output "executor_url" {
  description = "Where Cloud Tasks and Cloud Scheduler call. Nobody else gets in."
  value       = local.executor_url
}

output "queue" {
  description = "Full name of the queue."
  value       = google_cloud_tasks_queue.this.id
}

output "caller_accounts" {
  description = "Accounts in whose name targets with an audience are called: they need roles/run.invoker, or the like, there."
  value       = [google_service_account.ingest.email, google_service_account.executor.email]
}

output "dashboard" {
  description = "The dashboard in the console."
  value       = "https://console.cloud.google.com/monitoring/dashboards/builder/${basename(google_monitoring_dashboard.this.id)}?project=${var.project_id}"
}

output "try" {
  description = "A first request. Your account must be one of the invokers."
  value       = "curl -i -H \"Authorization: Bearer $(gcloud auth print-identity-token)\" -d hello ${local.ingest_url}/v1/lanes/first-key/requests"
}
