locals {
  # Lanes and records, and, if asked for, collapsed reads apart from them, so that a burst of reads cannot fill the Redis of the
  # lanes. What the second one loses is fetched again: it has no replica and no snapshots.
  redis_instances = merge(
    { lanes = { name = var.name, tier = "STANDARD_HA", memory_gb = var.redis.memory_gb } },
    var.cache_memory_gb > 0 ? { cache = { name = "${var.name}-cache", tier = "BASIC", memory_gb = var.cache_memory_gb } } : {},
  )
}

resource "google_redis_instance" "this" {
  for_each = local.redis_instances

  name               = each.value.name
  region             = var.region
  tier               = each.value.tier
  memory_size_gb     = each.value.memory_gb
  redis_version      = "REDIS_7_2"
  connect_mode       = "PRIVATE_SERVICE_ACCESS"
  authorized_network = google_compute_network.this.id

  auth_enabled            = true
  transit_encryption_mode = "SERVER_AUTHENTICATION"

  # The default, volatile-lru, evicts keys that expire: every key of ours does, and none may vanish before.
  redis_configs = { "maxmemory-policy" = "noeviction" }

  dynamic "persistence_config" {
    for_each = each.key == "lanes" ? [1] : []

    content {
      persistence_mode    = "RDB"
      rdb_snapshot_period = { 1 = "ONE_HOUR", 6 = "SIX_HOURS", 12 = "TWELVE_HOURS", 24 = "TWENTY_FOUR_HOURS" }[var.redis.snapshot_hours]
    }
  }

  maintenance_policy {
    weekly_maintenance_window {
      day = var.redis.maintenance_day
      start_time {
        hours   = var.redis.maintenance_hour
        minutes = 0
        seconds = 0
        nanos   = 0
      }
    }
  }

  deletion_protection = var.protect

  depends_on = [google_service_networking_connection.redis, google_project_service.this["redis"]]
}
