# A secret's value reaches an instance as an environment variable when it starts.
locals {
  redis_variables = { lanes = "SERIATIM_REDIS_URL", cache = "SERIATIM_CACHE_REDIS_URL" }
  own_secrets     = toset(concat(["envelope-key"], [for name in keys(local.redis_instances) : "redis-url-${name}"]))

  secret_environment = merge(var.target_secrets,
    {
      SERIATIM_ENVELOPE_KEY = {
        secret  = google_secret_manager_secret.this["envelope-key"].secret_id
        version = google_secret_manager_secret_version.envelope_key.version
      }
    },
    { for name in keys(local.redis_instances) : local.redis_variables[name] => {
      secret  = google_secret_manager_secret.this["redis-url-${name}"].secret_id
      version = google_secret_manager_secret_version.redis_url[name].version
    } },
  )
}

resource "google_secret_manager_secret" "this" {
  for_each = local.own_secrets

  secret_id = "${var.name}-${each.key}"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.this["secretmanager"]]
}

resource "google_secret_manager_secret_version" "redis_url" {
  for_each = local.redis_instances

  secret      = google_secret_manager_secret.this["redis-url-${each.key}"].id
  secret_data = "rediss://:${urlencode(google_redis_instance.this[each.key].auth_string)}@${google_redis_instance.this[each.key].host}:${google_redis_instance.this[each.key].port}"

  lifecycle {
    create_before_destroy = true # instances of the revision before still start with the old version
  }
}

# HMAC keys of task envelopes, 256 bits of randomness each. A key leaves only when no task that it signed can be left: 32 days.
resource "random_password" "envelope_key" {
  for_each = toset(var.envelope_keys)

  length  = 43
  special = false
}

resource "google_secret_manager_secret_version" "envelope_key" {
  secret      = google_secret_manager_secret.this["envelope-key"].id
  secret_data = join(",", [for name in var.envelope_keys : random_password.envelope_key[name].result])

  lifecycle {
    create_before_destroy = true
  }
}

locals {
  readers = { ingest = google_service_account.ingest.member, executor = google_service_account.executor.member }
  secret_ids = merge(
    { for name, secret in google_secret_manager_secret.this : name => secret.secret_id },
    { for name, s in var.target_secrets : name => s.secret },
  )
}

resource "google_secret_manager_secret_iam_member" "reader" {
  for_each = { for pair in setproduct(keys(local.readers), keys(local.secret_ids)) : "${pair[0]}/${pair[1]}" => pair }

  secret_id = local.secret_ids[each.value[1]]
  role      = "roles/secretmanager.secretAccessor"
  member    = local.readers[each.value[0]]
}
