resource "google_service_account" "ingest" {
  account_id   = local.ingest_name
  display_name = "The ingest function of ${var.name}"
}

resource "google_cloud_tasks_queue_iam_member" "ingest" {
  name     = google_cloud_tasks_queue.this.name
  location = var.region
  role     = google_project_iam_custom_role.ingest_queue.id
  member   = google_service_account.ingest.member
}

# Whoever creates a task with a token of an account must be allowed to act as that account.
resource "google_service_account_iam_member" "ingest_acts_as_tasks" {
  service_account_id = google_service_account.tasks.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.ingest.member
}

resource "google_cloudfunctions2_function" "ingest" {
  name     = local.ingest_name
  location = var.region

  build_config {
    runtime           = "go126"
    entry_point       = "Ingest"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source["ingest"].name
      }
    }
  }

  service_config {
    available_cpu                    = tostring(var.ingest.cpu)
    available_memory                 = "${var.ingest.memory_mib}Mi"
    max_instance_request_concurrency = var.ingest.concurrency
    min_instance_count               = var.ingest.min_instances
    max_instance_count               = var.ingest.max_instances
    timeout_seconds                  = local.ingest_timeout
    ingress_settings                 = var.ingest_ingress
    service_account_email            = google_service_account.ingest.email
    direct_vpc_egress                = local.vpc_egress

    direct_vpc_network_interface {
      network    = google_compute_network.this.name
      subnetwork = google_compute_subnetwork.functions.name
      tags       = [local.function_tag]
    }

    environment_variables = local.environment

    dynamic "secret_environment_variables" {
      for_each = local.secret_environment

      content {
        key        = secret_environment_variables.key
        project_id = var.project_id
        secret     = secret_environment_variables.value.secret
        version    = secret_environment_variables.value.version
      }
    }
  }

  depends_on = [
    google_project_service.this,
    google_secret_manager_secret_iam_member.reader,
    google_storage_bucket_iam_member.build_reads_sources,
    google_project_iam_member.build_logs,
    google_artifact_registry_repository_iam_member.build_writes_images,
  ]
}

# The whole list, so that a member that was added by hand, allUsers above all, is gone after the next apply.
resource "google_cloud_run_v2_service_iam_binding" "ingest_invokers" {
  name     = google_cloudfunctions2_function.ingest.name
  location = var.region
  role     = "roles/run.invoker"
  members  = var.invokers
}
