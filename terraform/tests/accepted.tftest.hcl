# Other values than the defaults, up to the limits.

mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "random" {
  source = "./tests/mocks"
}

variables {
  project_id  = "acme-prod"
  region      = "europe-west1"
  config_file = "tests/policies/policy.yaml"
  invokers    = ["serviceAccount:shop@acme-shop.iam.gserviceaccount.com"]
  target_secrets = {
    SLOW_SECRET = { secret = "slow", version = "3" }
  }
}

run "the_slowest_target" {
  command = plan

  variables {
    config_file = "tests/policies/slowest.yaml"
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].timeout_seconds == 1800 && google_cloudfunctions2_function.executor.service_config[0].timeout_seconds >= 10 + 1500 + 30
    error_message = "The executor's timeout is not the longest dispatch deadline that Cloud Tasks allows."
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.service_config[0].timeout_seconds == 1590
    error_message = "Ingest's timeout is not that of the target, a minute for a client that waits, and half a minute to spare."
  }
}

run "an_origin_slower_than_all_targets" {
  command = plan

  variables {
    config_file = "tests/policies/slow_origin.yaml"
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.service_config[0].timeout_seconds >= 120 + 60
    error_message = "A read that waits a minute for its lane and then for the slow origin does not fit ingest's timeout."
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].timeout_seconds == 10 + 2 * 20 + 30
    error_message = "The executor's timeout depends on origins, which it never calls."
  }
}

run "a_target_with_places" {
  command = plan

  variables {
    config_file = "tests/policies/places.yaml"
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.service_config[0].timeout_seconds >= 10 + 90 + 60
    error_message = "A run that waits for a place does not fit ingest's timeout."
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].timeout_seconds >= 10 + 10 + 90
    error_message = "A run that waits at the gate and for a place does not fit the executor's timeout."
  }
}

run "timeouts_at_their_bounds" {
  command = plan

  variables {
    executor = { timeout_seconds = 130 }
    ingest   = { timeout_seconds = 150 }
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].timeout_seconds == 130 && google_cloudfunctions2_function.ingest.service_config[0].timeout_seconds == 150
    error_message = "The timeouts are not those that were asked for."
  }
}

run "a_static_address" {
  command = plan

  variables {
    egress_addresses      = ["out-1"]
    private_target_ranges = ["10.20.0.0/16"]
  }

  assert {
    condition     = google_cloudfunctions2_function.executor.service_config[0].direct_vpc_egress == "VPC_EGRESS_ALL_TRAFFIC" && google_cloudfunctions2_function.ingest.service_config[0].direct_vpc_egress == "VPC_EGRESS_ALL_TRAFFIC"
    error_message = "Traffic does not leave through the subnet."
  }

  assert {
    condition     = one(google_compute_router_nat.egress[0].nat_ips) == "projects/acme-prod/regions/europe-west1/addresses/out-1" && google_compute_router_nat.egress[0].nat_ip_allocate_option == "MANUAL_ONLY"
    error_message = "The NAT does not use the reserved address."
  }

  assert {
    condition     = google_compute_firewall.to_private_targets[0].priority < google_compute_firewall.to_nothing_else_private.priority
    error_message = "The targets' private addresses stay closed."
  }
}

run "a_rotation" {
  command = plan

  variables {
    envelope_keys = ["b", "a"]
  }

  assert {
    condition     = length(random_password.envelope_key) == 2
    error_message = "Not both keys are there."
  }
}

run "development" {
  command = plan

  variables {
    protect = false
    name    = "dev"
  }

  assert {
    condition     = google_cloud_tasks_queue.this.deletion_policy == "DELETE" && alltrue([for r in google_redis_instance.this : !r.deletion_protection]) && google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_DISABLED"
    error_message = "A development environment cannot be destroyed."
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.name == "dev-ingest" && google_firestore_database.this.name == "dev-records"
    error_message = "A name does not begin with the prefix."
  }
}

run "the_longest_name" {
  command = plan

  variables {
    name = "twenty-letters-names"
  }

  assert {
    condition     = alltrue([for a in [google_service_account.ingest, google_service_account.executor, google_service_account.tasks, google_service_account.sweep, google_service_account.build] : can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", a.account_id))])
    error_message = "A service account's id has not 6-30 characters."
  }

  assert {
    condition     = can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", google_firestore_database.this.name)) && can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", google_storage_bucket.source.name)) && length("${google_cloudfunctions2_function.executor.name}-123456789012") <= 63
    error_message = "A name is longer than Firestore, Cloud Storage or a host name takes."
  }
}

run "the_shortest_name" {
  command = plan

  variables {
    name = "dev"
  }

  assert {
    condition     = alltrue([for a in [google_service_account.ingest, google_service_account.executor, google_service_account.tasks, google_service_account.sweep, google_service_account.build] : can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", a.account_id))])
    error_message = "A service account's id has not 6-30 characters."
  }

  assert {
    condition     = can(regex("^projects/acme-prod/databases/[a-z][a-z0-9-]{2,61}[a-z0-9]$", google_cloudfunctions2_function.ingest.service_config[0].environment_variables["SERIATIM_FIRESTORE"]))
    error_message = "SERIATIM_FIRESTORE names no database that Firestore takes: its id has 4-63 characters."
  }
}
