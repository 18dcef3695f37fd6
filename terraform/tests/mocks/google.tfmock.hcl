# What the providers would compute, for all tests.

mock_data "google_project" {
  defaults = { number = "123456789012" }
}

mock_resource "google_redis_instance" {
  defaults = {
    id              = "projects/acme-prod/locations/europe-west1/instances/seriatim"
    host            = "10.9.0.4"
    port            = 6378
    auth_string     = "an-auth-string/with a space"
    server_ca_certs = [{ cert = "-----BEGIN CERTIFICATE-----", create_time = "", expire_time = "", serial_number = "", sha1_fingerprint = "" }]
  }
}

mock_resource "google_cloud_tasks_queue" {
  defaults = { id = "projects/acme-prod/locations/europe-west1/queues/seriatim-0a1b2c" }
}

mock_resource "google_firestore_database" {
  defaults = { id = "projects/acme-prod/databases/seriatim-records" }
}

mock_resource "google_secret_manager_secret_version" {
  defaults = { version = "7" }
}

mock_resource "google_monitoring_dashboard" {
  defaults = { id = "projects/1/dashboards/d" }
}

mock_resource "random_password" {
  defaults = { result = "a-generated-envelope-key" }
}

override_resource {
  target = google_service_account.ingest
  values = {
    name   = "projects/acme-prod/serviceAccounts/seriatim-ingest@acme-prod.iam.gserviceaccount.com"
    id     = "projects/acme-prod/serviceAccounts/seriatim-ingest@acme-prod.iam.gserviceaccount.com"
    email  = "seriatim-ingest@acme-prod.iam.gserviceaccount.com"
    member = "serviceAccount:seriatim-ingest@acme-prod.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.executor
  values = {
    name   = "projects/acme-prod/serviceAccounts/seriatim-executor@acme-prod.iam.gserviceaccount.com"
    id     = "projects/acme-prod/serviceAccounts/seriatim-executor@acme-prod.iam.gserviceaccount.com"
    email  = "seriatim-executor@acme-prod.iam.gserviceaccount.com"
    member = "serviceAccount:seriatim-executor@acme-prod.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.tasks
  values = {
    name   = "projects/acme-prod/serviceAccounts/seriatim-tasks@acme-prod.iam.gserviceaccount.com"
    id     = "projects/acme-prod/serviceAccounts/seriatim-tasks@acme-prod.iam.gserviceaccount.com"
    email  = "seriatim-tasks@acme-prod.iam.gserviceaccount.com"
    member = "serviceAccount:seriatim-tasks@acme-prod.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.sweep
  values = {
    name   = "projects/acme-prod/serviceAccounts/seriatim-sweep@acme-prod.iam.gserviceaccount.com"
    id     = "projects/acme-prod/serviceAccounts/seriatim-sweep@acme-prod.iam.gserviceaccount.com"
    email  = "seriatim-sweep@acme-prod.iam.gserviceaccount.com"
    member = "serviceAccount:seriatim-sweep@acme-prod.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.build
  values = {
    name   = "projects/acme-prod/serviceAccounts/seriatim-build@acme-prod.iam.gserviceaccount.com"
    id     = "projects/acme-prod/serviceAccounts/seriatim-build@acme-prod.iam.gserviceaccount.com"
    email  = "seriatim-build@acme-prod.iam.gserviceaccount.com"
    member = "serviceAccount:seriatim-build@acme-prod.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_project_iam_custom_role.ingest_queue
  values = { id = "projects/acme-prod/roles/seriatim_ingest_queue" }
}

override_resource {
  target = google_project_iam_custom_role.executor_queue
  values = { id = "projects/acme-prod/roles/seriatim_executor_queue" }
}

override_resource {
  target = google_project_iam_custom_role.ingest_records
  values = { id = "projects/acme-prod/roles/seriatim_ingest_records" }
}

override_resource {
  target = google_project_iam_custom_role.executor_records
  values = { id = "projects/acme-prod/roles/seriatim_executor_records" }
}
