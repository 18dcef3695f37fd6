locals {
  static_egress = length(var.egress_addresses) > 0
  vpc_egress    = local.static_egress ? "VPC_EGRESS_ALL_TRAFFIC" : "VPC_EGRESS_PRIVATE_RANGES_ONLY"
  function_tag  = "${var.name}-function"
}

resource "google_compute_network" "this" {
  name                    = var.name
  auto_create_subnetworks = false

  depends_on = [google_project_service.this["compute"]]
}

resource "google_compute_subnetwork" "functions" {
  name                     = "${var.name}-functions"
  network                  = google_compute_network.this.id
  region                   = var.region
  ip_cidr_range            = var.subnet_range
  private_ip_google_access = true # with a static address all traffic leaves through the subnet, Google's APIs too
}

# ---- Redis lives in a peered network --------------------------------------------------------------------------------

resource "google_compute_global_address" "redis" {
  name          = "${var.name}-redis"
  network       = google_compute_network.this.id
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  address       = cidrhost(var.redis_range, 0)
  prefix_length = tonumber(split("/", var.redis_range)[1])
}

resource "google_service_networking_connection" "redis" {
  network                 = google_compute_network.this.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.redis.name]

  depends_on = [google_project_service.this["servicenetworking"]]
}

# ---- firewall: nobody comes in (the network's implied rule), and private addresses are closed but for Redis and targets ----

resource "google_compute_firewall" "to_redis" {
  name               = "${var.name}-to-redis"
  network            = google_compute_network.this.id
  direction          = "EGRESS"
  priority           = 1000
  target_tags        = [local.function_tag]
  destination_ranges = [var.redis_range]

  allow {
    protocol = "tcp"
    ports    = distinct([for instance in google_redis_instance.this : tostring(instance.port)])
  }
}

resource "google_compute_firewall" "to_private_targets" {
  count = length(var.private_target_ranges) > 0 ? 1 : 0

  name               = "${var.name}-to-private-targets"
  network            = google_compute_network.this.id
  direction          = "EGRESS"
  priority           = 1000
  target_tags        = [local.function_tag]
  destination_ranges = var.private_target_ranges

  allow {
    protocol = "tcp"
  }
}

resource "google_compute_firewall" "to_nothing_else_private" {
  name               = "${var.name}-to-nothing-else-private"
  network            = google_compute_network.this.id
  direction          = "EGRESS"
  priority           = 2000
  target_tags        = [local.function_tag]
  destination_ranges = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]

  deny {
    protocol = "all"
  }
}

# ---- a static egress address ----------------------------------------------------------------------------------------

resource "google_compute_router" "egress" {
  count = local.static_egress ? 1 : 0

  name    = "${var.name}-egress"
  network = google_compute_network.this.id
  region  = var.region
}

resource "google_compute_router_nat" "egress" {
  count = local.static_egress ? 1 : 0

  name                               = "${var.name}-egress"
  router                             = google_compute_router.egress[0].name
  region                             = var.region
  nat_ip_allocate_option             = "MANUAL_ONLY"
  nat_ips                            = [for name in var.egress_addresses : "projects/${var.project_id}/regions/${var.region}/addresses/${name}"]
  source_subnetwork_ip_ranges_to_nat = "LIST_OF_SUBNETWORKS"

  subnetwork {
    name                    = google_compute_subnetwork.functions.id
    source_ip_ranges_to_nat = ["ALL_IP_RANGES"]
  }

  log_config {
    enable = true
    filter = "ERRORS_ONLY"
  }
}
