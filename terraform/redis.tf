resource "google_redis_instance" "this" {
  name               = var.name
  region             = var.region
  tier               = "STANDARD_HA"
  memory_size_gb     = var.redis.memory_gb
  redis_version      = "REDIS_7_2"
  connect_mode       = "PRIVATE_SERVICE_ACCESS"
  authorized_network = google_compute_network.this.id

  auth_enabled            = true
  transit_encryption_mode = "SERVER_AUTHENTICATION"

  # The default, volatile-lru, evicts keys that expire: every key of ours does, and none may vanish before.
  redis_configs = { "maxmemory-policy" = "noeviction" }

  persistence_config {
    persistence_mode    = "RDB"
    rdb_snapshot_period = { 1 = "ONE_HOUR", 6 = "SIX_HOURS", 12 = "TWELVE_HOURS", 24 = "TWENTY_FOUR_HOURS" }[var.redis.snapshot_hours]
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
