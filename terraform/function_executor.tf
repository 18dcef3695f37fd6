resource "google_service_account" "executor" {
  account_id   = local.executor_name
  display_name = "The executor function of ${var.name}"
}

resource "google_cloud_tasks_queue_iam_member" "executor" {
  name     = google_cloud_tasks_queue.this.name
  location = var.region
  role     = google_project_iam_custom_role.executor_queue.id
  member   = google_service_account.executor.member
}

# Whoever creates a task with a token of an account must be allowed to act as that account.
resource "google_service_account_iam_member" "executor_acts_as_tasks" {
  service_account_id = google_service_account.tasks.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.executor.member
}

resource "google_cloudfunctions2_function" "executor" {
  name     = local.executor_name
  location = var.region

  build_config {
    runtime           = "go126"
    entry_point       = "Executor"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source["executor"].name
      }
    }
  }

  service_config {
    available_cpu                    = tostring(var.executor.cpu)
    available_memory                 = "${var.executor.memory_mib}Mi"
    max_instance_request_concurrency = var.executor.concurrency
    min_instance_count               = var.executor.min_instances
    max_instance_count               = var.executor.max_instances
    timeout_seconds                  = local.executor_timeout
    ingress_settings                 = "ALLOW_INTERNAL_ONLY" # Cloud Tasks and Cloud Scheduler of this project are internal
    service_account_email            = google_service_account.executor.email
    direct_vpc_egress                = local.vpc_egress

    direct_vpc_network_interface {
      network    = google_compute_network.this.name
      subnetwork = google_compute_subnetwork.functions.name
      tags       = [local.function_tag]
    }

    environment_variables = merge(local.environment, {
      SERIATIM_SWEEP_SERVICE_ACCOUNT = google_service_account.sweep.email
    })

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

  lifecycle {
    precondition {
      condition     = alltrue(flatten([for of in local.timeouts : [for seconds in of : seconds >= local.timeout_bounds.least && seconds <= local.timeout_bounds.most]]))
      error_message = "Every timeout of a target or origin in config_file must be a literal duration from 1s to 25m: the timeouts of functions and deliveries are derived from them."
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

resource "google_cloud_run_v2_service_iam_binding" "executor_invokers" {
  name     = google_cloudfunctions2_function.executor.name
  location = var.region
  role     = "roles/run.invoker"
  members  = [google_service_account.tasks.member, google_service_account.sweep.member]
}
