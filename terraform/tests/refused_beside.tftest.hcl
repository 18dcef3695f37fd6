# Wrong values of variables whose conditions look at other variables or at the document: refused in runs of their own.

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

run "first_wrong_values_beside_others" {
  command = plan

  variables {
    redis_range    = "10.9.0.0/25"                                            # redis range too narrow
    target_secrets = { SERIATIM_REDIS_URL = { secret = "x", version = "1" } } # own variable as target secret
    queue          = { max_dispatches_per_second = 501 }                      # queue faster than allowed
  }

  expect_failures = [
    var.redis_range,
    var.target_secrets,
    var.queue,
  ]
}

run "second_wrong_values_beside_others" {
  command = plan

  variables {
    redis_range    = "10.8.0.0/24"                                             # redis range in the subnet
    target_secrets = { SLOW_SECRET = { secret = "slow", version = "latest" } } # latest secret
    queue          = { max_dispatches_per_second = 0 }                         # queue that stands
  }

  expect_failures = [
    var.redis_range,
    var.target_secrets,
    var.queue,
  ]
}

run "third_wrong_values_beside_others" {
  command = plan

  variables {
    redis_range    = "10.0.0.0/8"                                                            # redis range around the subnet
    target_secrets = { SLOW_SECRET = { secret = "projects/p/secrets/slow", version = "1" } } # full secret name
    queue          = { max_concurrent_dispatches = 1601 }                                    # queue wider than the executor
  }

  expect_failures = [
    var.redis_range,
    var.target_secrets,
    var.queue,
  ]
}

run "fourth_wrong_values_beside_others" {
  command = plan

  variables {
    queue = { log_sampling_ratio = 2 } # queue that logs twice
  }

  expect_failures = [
    var.queue,
  ]
}

run "subnet_no_cidr" {
  command = plan

  variables {
    subnet_range = "10.8.0.0" # subnet no cidr
  }

  expect_failures = [
    var.subnet_range,
  ]
}

run "subnet_too_narrow" {
  command = plan

  variables {
    subnet_range = "10.8.0.0/27" # subnet too narrow
  }

  expect_failures = [
    var.subnet_range,
  ]
}

run "subnet_too_small_for_the_instances" {
  command = plan

  variables {
    subnet_range = "10.8.0.0/26" # subnet too small for the instances
  }

  expect_failures = [
    var.subnet_range,
  ]
}

run "config_not_there" {
  command = plan

  variables {
    config_file = "tests/policies/nowhere.yaml"
  }

  expect_failures = [var.config_file]
}

run "config_without_targets" {
  command = plan

  variables {
    config_file = "tests/policies/no_targets.yaml"
  }

  expect_failures = [var.config_file]
}

run "config_too_long" {
  command = plan

  variables {
    config_file = "../functions/ingest/openapi.yaml" # another document, and longer than 32 KiB
  }

  expect_failures = [var.config_file]
}

run "target_slower_than_allowed" {
  command = plan

  variables {
    config_file = "tests/policies/too_slow.yaml"
  }

  expect_failures = [google_cloudfunctions2_function.executor]
}

run "target_timeout_from_the_environment" {
  command = plan

  variables {
    config_file = "tests/policies/unknown_timeout.yaml"
  }

  expect_failures = [google_cloudfunctions2_function.executor]
}

run "target_timeout_of_a_day" {
  command = plan

  variables {
    config_file = "tests/policies/a_day.yaml"
  }

  expect_failures = [google_cloudfunctions2_function.executor]
}

run "origin_slower_than_allowed" {
  command = plan

  variables {
    config_file = "tests/policies/too_slow_origin.yaml"
  }

  expect_failures = [google_cloudfunctions2_function.executor]
}

run "ingest_shorter_than_a_fetch" {
  command = plan

  variables {
    config_file = "tests/policies/slow_origin.yaml"
    ingest      = { timeout_seconds = 179 }
  }

  expect_failures = [var.ingest]
}

run "ingest_shorter_than_a_wait_for_a_place" {
  command = plan

  variables {
    config_file = "tests/policies/places.yaml"
    ingest      = { timeout_seconds = 159 }
  }

  expect_failures = [var.ingest]
}
