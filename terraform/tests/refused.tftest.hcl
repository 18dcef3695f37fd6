# Every wrong value is refused by the variable that has it, and so is every value that breaks a relation. A run gives many
# variables a wrong value at once: expect_failures wants each of them to fail, and nothing else.
# A variable whose condition looks at another one has its wrong values in refused_beside.tftest.hcl.

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

run "first_wrong_values" {
  command = plan

  variables {
    project_id            = "123456789012"                      # project number
    region                = "europe-west1-b"                    # zone for region
    name                  = "a-name-of-far-too-many-letters"    # long name
    invokers              = ["allUsers"]                        # public ingest
    ingest_ingress        = "ALLOW_SOME"                        # unknown ingress
    target_environment    = { SERIATIM_AUTH = "off" }           # own variable as target environment
    envelope_keys         = []                                  # no envelope key
    ingest                = { cpu = 0.5 }                       # ingest without cpu
    executor              = { cpu = 0.5 }                       # executor without cpu
    redis                 = { memory_gb = 1.5 }                 # half a gigabyte of redis
    private_target_ranges = ["10.20.0.1"]                       # private targets no cidr
    egress_addresses      = ["203.0.113.7"]                     # egress address itself
    firestore_location    = "Europe West"                       # firestore nowhere
    sweep_schedule        = "every minute"                      # sweep without a schedule
    notification_channels = ["123"]                             # channel by its number
    runbook_url           = "https://acme.example/runbooks#top" # runbooks with fragment
    alerts                = { dead_letters = -1 }               # negative alert
    cache_memory_gb       = 0.5                                 # half a gigabyte of cache
  }

  expect_failures = [
    var.cache_memory_gb,
    var.project_id,
    var.region,
    var.name,
    var.invokers,
    var.ingest_ingress,
    var.target_environment,
    var.envelope_keys,
    var.ingest,
    var.executor,
    var.redis,
    var.private_target_ranges,
    var.egress_addresses,
    var.firestore_location,
    var.sweep_schedule,
    var.notification_channels,
    var.runbook_url,
    var.alerts,
  ]
}

run "second_wrong_values" {
  command = plan

  variables {
    name               = "seriatim-"                                        # name with hyphen at its end
    invokers           = ["user:ann@acme.example", "allAuthenticatedUsers"] # half public ingest
    target_environment = { slow = "x" }                                     # lower case target environment
    envelope_keys      = ["a", "a"]                                         # one envelope key twice
    ingest             = { memory_mib = 256 }                               # ingest with little memory
    executor           = { memory_mib = 8192 }                              # executor with too much memory
    redis              = { snapshot_hours = 2 }                             # snapshots every two hours
  }

  expect_failures = [
    var.name,
    var.invokers,
    var.target_environment,
    var.envelope_keys,
    var.ingest,
    var.executor,
    var.redis,
  ]
}

run "third_wrong_values" {
  command = plan

  variables {
    name     = "db"                        # name of two letters
    invokers = []                          # no invokers
    ingest   = { concurrency = 1 }         # ingest one at a time
    executor = { concurrency = 1 }         # executor one at a time
    redis    = { maintenance_hour = 12.5 } # maintenance at noon and a half
  }

  expect_failures = [
    var.name,
    var.invokers,
    var.ingest,
    var.executor,
    var.redis,
  ]
}

run "fourth_wrong_values" {
  command = plan

  variables {
    ingest   = { min_instances = 21 }         # ingest more min than max
    executor = { max_instances = 101 }        # executor too many instances
    redis    = { maintenance_day = "sunday" } # maintenance on no day
  }

  expect_failures = [
    var.ingest,
    var.executor,
    var.redis,
  ]
}

run "fifth_wrong_values" {
  command = plan

  variables {
    ingest   = { timeout_seconds = 149 }  # ingest shorter than a run
    executor = { timeout_seconds = 129 }  # executor shorter than a run
    redis    = { memory_alert_ratio = 1 } # alert at a full redis
  }

  expect_failures = [
    var.ingest,
    var.executor,
    var.redis,
  ]
}

run "sixth_wrong_values" {
  command = plan

  variables {
    ingest   = { timeout_seconds = 3601 } # ingest longer than allowed
    executor = { timeout_seconds = 221 }  # executor longer than a dispatch
  }

  expect_failures = [
    var.ingest,
    var.executor,
  ]
}
