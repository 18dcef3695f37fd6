# Addresses, and what may be reached.

variable "subnet_range" {
  description = "CIDR of the functions' subnet, /26 or wider: an instance takes two addresses, and a new revision runs beside the old one."
  type        = string
  default     = "10.8.0.0/24"

  validation {
    condition     = can(cidrhost(var.subnet_range, 0)) && try(tonumber(split("/", var.subnet_range)[1]), 32) <= 26
    error_message = "Give a CIDR of /26 or wider, such as 10.8.0.0/24."
  }

  validation {
    condition     = try(pow(2, 32 - tonumber(split("/", var.subnet_range)[1])) >= 2 * (var.ingest.max_instances + var.executor.max_instances) + 4, false)
    error_message = "The range is too small: two addresses for each of the functions' instances, and the four that Google keeps."
  }
}

variable "redis_range" {
  description = "CIDR of the peering in which Redis lives, /24 or wider, apart from subnet_range."
  type        = string
  default     = "10.9.0.0/24"

  validation {
    condition     = can(cidrhost(var.redis_range, 0)) && try(tonumber(split("/", var.redis_range)[1]), 32) <= 24
    error_message = "Give a CIDR of /24 or wider, such as 10.9.0.0/24."
  }

  validation {
    condition = try(
      cidrhost("${cidrhost(var.redis_range, 0)}/${min(split("/", var.redis_range)[1], split("/", var.subnet_range)[1])}", 0) !=
      cidrhost("${cidrhost(var.subnet_range, 0)}/${min(split("/", var.redis_range)[1], split("/", var.subnet_range)[1])}", 0), false
    )
    error_message = "The range overlaps subnet_range."
  }
}

variable "private_target_ranges" {
  description = "Private CIDRs that the functions may call, for targets inside the network. All other private addresses but Redis are closed to them."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.private_target_ranges : can(cidrhost(range, 0))])
    error_message = "Give CIDRs such as 10.20.0.0/16."
  }
}

variable "egress_addresses" {
  description = "Names of reserved regional external addresses (gcloud compute addresses create) from which targets are called, for targets that list addresses. Empty: Google's changing ones, without NAT. They are reserved apart so that they outlive a destroy."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.egress_addresses : can(regex("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", name))])
    error_message = "Give the addresses' names, not the addresses."
  }
}
