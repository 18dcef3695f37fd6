# The relations that production depends on. relations_test.go breaks each of them once and sees that its assertion fails.

mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "random" {
  source = "./tests/mocks"
}

variables {
  project_id      = "acme-prod"
  region          = "europe-west1"
  config_file     = "tests/policies/policy.yaml"
  invokers        = ["serviceAccount:shop@acme-shop.iam.gserviceaccount.com"]
  cache_memory_gb = 1
  target_secrets = {
    SLOW_SECRET = { secret = "slow", version = "3" }
  }
}

run "relations" {
  command = apply

  assert {
    condition     = length(regexall("^seriatim-[0-9a-z]+$", google_cloud_tasks_queue.this.name)) == 1 && google_cloud_tasks_queue.this.name == "seriatim-${random_id.queue.hex}"
    error_message = "The queue's name does not end in the random suffix."
  }

  assert {
    condition     = google_cloud_tasks_queue.this.retry_config[0].max_attempts == -1 && google_cloud_tasks_queue.this.retry_config[0].max_retry_duration == "0s"
    error_message = "Attempts are not unlimited: a task out of attempts is deleted, and its lane stands."
  }

  assert {
    condition     = google_cloud_tasks_queue.this.retry_config[0].min_backoff == "1s" && google_cloud_tasks_queue.this.retry_config[0].max_backoff == "10s"
    error_message = "The queue's backoff is not 1 s to 10 s."
  }

  assert {
    condition     = google_cloud_tasks_queue.this.deletion_policy == "PREVENT" && alltrue([for r in google_redis_instance.this : r.deletion_protection]) && google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_ENABLED" && google_firestore_database.this.deletion_policy == "PREVENT"
    error_message = "What holds data is not protected from a destroy."
  }

  assert {
    condition     = length(google_redis_instance.this) == 2 && alltrue([for r in google_redis_instance.this : r.redis_configs["maxmemory-policy"] == "noeviction"])
    error_message = "Redis may evict lanes and records."
  }

  assert {
    condition     = alltrue([for r in google_redis_instance.this : r.auth_enabled])
    error_message = "Redis asks for no password."
  }

  assert {
    condition     = alltrue([for r in google_redis_instance.this : r.transit_encryption_mode == "SERVER_AUTHENTICATION"])
    error_message = "Redis is reached without TLS."
  }

  assert {
    condition     = google_redis_instance.this["lanes"].tier == "STANDARD_HA" && google_redis_instance.this["lanes"].persistence_config[0].persistence_mode == "RDB"
    error_message = "Redis has no replica or keeps no snapshots."
  }

  assert {
    condition     = alltrue([for v in google_secret_manager_secret_version.redis_url : startswith(v.secret_data, "rediss://:") && endswith(v.secret_data, "@10.9.0.4:6378") && !strcontains(v.secret_data, " ")])
    error_message = "The URL of Redis is not rediss:// with the password percent-encoded."
  }

  assert {
    condition     = tolist(google_cloud_run_v2_service_iam_binding.ingest_invokers.members) == tolist(["serviceAccount:shop@acme-shop.iam.gserviceaccount.com"]) && google_cloud_run_v2_service_iam_binding.ingest_invokers.name == google_cloudfunctions2_function.ingest.name
    error_message = "Others than the invokers may call ingest."
  }

  assert {
    condition     = toset(google_cloud_run_v2_service_iam_binding.executor_invokers.members) == toset([google_service_account.tasks.member, google_service_account.sweep.member]) && google_cloud_run_v2_service_iam_binding.executor_invokers.name == google_cloudfunctions2_function.executor.name
    error_message = "Others than the task and sweep accounts may call the executor."
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"
    error_message = "The executor can be reached from outside the project."
  }

  assert {
    condition     = alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : f.service_config[0].environment_variables["SERIATIM_TASKS_SERVICE_ACCOUNT"] == google_service_account.tasks.email])
    error_message = "The functions are not told the task account."
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].environment_variables["SERIATIM_SWEEP_SERVICE_ACCOUNT"] == google_cloud_scheduler_job.sweep.http_target[0].oidc_token[0].service_account_email && google_service_account.sweep.email != google_service_account.tasks.email
    error_message = "The executor is not told the account that Cloud Scheduler calls with, or it is the task account."
  }

  assert {
    condition     = alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : f.service_config[0].environment_variables["SERIATIM_EXECUTOR_URL"] == "https://${google_cloudfunctions2_function.executor.name}-123456789012.${google_cloudfunctions2_function.executor.location}.run.app"])
    error_message = "SERIATIM_EXECUTOR_URL, the audience of tokens, is not the deterministic URL of the executor."
  }

  assert {
    condition     = alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : f.service_config[0].environment_variables["SERIATIM_FIRESTORE"] == "projects/acme-prod/databases/${google_firestore_database.this.name}"]) && can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", google_firestore_database.this.name))
    error_message = "SERIATIM_FIRESTORE is not the database, or its id has not 4-63 characters."
  }

  assert {
    condition     = alltrue([for m in google_project_iam_member.uses_records : strcontains(m.condition[0].expression, google_firestore_database.this.id)])
    error_message = "The functions may use every database of the project."
  }

  assert {
    condition     = google_cloud_scheduler_job.sweep.http_target[0].oidc_token[0].audience == google_cloudfunctions2_function.executor.service_config[0].environment_variables["SERIATIM_EXECUTOR_URL"] && google_cloud_scheduler_job.sweep.http_target[0].uri == "${google_cloud_scheduler_job.sweep.http_target[0].oidc_token[0].audience}/sweep"
    error_message = "The sweep's token is not for the executor, or it calls another path."
  }

  assert {
    condition     = alltrue([for m in [google_service_account_iam_member.ingest_acts_as_tasks, google_service_account_iam_member.executor_acts_as_tasks] : m.service_account_id == google_service_account.tasks.name && m.role == "roles/iam.serviceAccountUser"])
    error_message = "Who creates tasks may not act as the task account."
  }

  assert {
    condition     = length(distinct([for a in [google_service_account.ingest, google_service_account.executor, google_service_account.tasks, google_service_account.sweep, google_service_account.build] : a.email])) == 5 && google_cloudfunctions2_function.ingest.service_config[0].service_account_email == google_service_account.ingest.email && google_cloudfunctions2_function.executor.service_config[0].service_account_email == google_service_account.executor.email && alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : f.build_config[0].service_account == google_service_account.build.id])
    error_message = "An edge shares its account with another, or a function runs or is built as a default account."
  }

  assert {
    condition     = local.longest_timeout == 90 && google_cloudfunctions2_function.executor.service_config[0].timeout_seconds >= 10 + 90 + 30
    error_message = "A run of the slowest target does not fit the executor's timeout."
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].timeout_seconds <= min(10 + 2 * 90 + 30, 1800)
    error_message = "The executor's timeout is longer than the dispatch deadline of its tasks."
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.service_config[0].timeout_seconds >= 90 + 60
    error_message = "A run of the slowest target does not fit ingest's timeout."
  }

  assert {
    condition     = google_cloud_tasks_queue.this.rate_limits[0].max_concurrent_dispatches <= google_cloudfunctions2_function.executor.service_config[0].max_instance_count * google_cloudfunctions2_function.executor.service_config[0].max_instance_request_concurrency
    error_message = "Cloud Tasks may deliver more at once than the executor takes."
  }

  assert {
    condition     = alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : f.build_config[0].runtime == "go126" && f.service_config[0].max_instance_request_concurrency > 1 && tonumber(f.service_config[0].available_cpu) >= 1])
    error_message = "A function has another runtime, takes one request at a time, or has no whole CPU for several."
  }

  assert {
    condition     = alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : f.service_config[0].direct_vpc_egress == "VPC_EGRESS_PRIVATE_RANGES_ONLY" && f.service_config[0].direct_vpc_network_interface[0].subnetwork == google_compute_subnetwork.functions.name && f.service_config[0].direct_vpc_network_interface[0].tags[0] == one(google_compute_firewall.to_redis.target_tags)]) && length(google_compute_router_nat.egress) == 0
    error_message = "The functions do not reach Redis through the subnet and its firewall, or need a NAT without being asked for an address."
  }

  assert {
    condition     = alltrue([for f in [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.executor] : alltrue([for name in keys(f.service_config[0].environment_variables) : !contains(["SERIATIM_REDIS_URL", "SERIATIM_CACHE_REDIS_URL", "SERIATIM_ENVELOPE_KEY", "SLOW_SECRET"], name)]) && toset(f.service_config[0].secret_environment_variables[*].key) == toset(["SERIATIM_REDIS_URL", "SERIATIM_CACHE_REDIS_URL", "SERIATIM_ENVELOPE_KEY", "SLOW_SECRET"])])
    error_message = "A secret stands in a function's plain environment, or does not reach it."
  }

  assert {
    condition     = alltrue([for o in [output.ingest_url, output.executor_url, output.queue, output.dashboard, output.try, join(",", output.caller_accounts)] : !strcontains(o, "an-auth-string") && !strcontains(o, "a-generated-envelope-key")])
    error_message = "An output shows a secret."
  }

  assert {
    condition     = google_storage_bucket.source.public_access_prevention == "enforced" && google_storage_bucket.source.uniform_bucket_level_access
    error_message = "The bucket of sources could be made public."
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.build_config[0].source[0].storage_source[0].object == "ingest/${local.source_hashes["ingest"]}.zip" && google_cloudfunctions2_function.executor.build_config[0].source[0].storage_source[0].object == "executor/${local.source_hashes["executor"]}.zip"
    error_message = "A function is not deployed from the object named by its own sources."
  }

  assert {
    condition     = alltrue([for p in google_monitoring_alert_policy.this : startswith(p.documentation[0].links[0].url, "${var.runbook_url}#runbook-")])
    error_message = "An alert links to no runbook."
  }
}
