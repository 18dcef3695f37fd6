locals {
  # Collections that the functions write, and the field with each document's expiry. Documents are read by id only, so there is no
  # composite index, and the expiry is not indexed either: it grows with time, and such an index is a hot spot.
  firestore_collections = {}

  uses_firestore = length(local.firestore_collections) > 0
}

resource "google_firestore_database" "this" {
  name                              = var.name
  location_id                       = coalesce(var.firestore_location, var.region)
  type                              = "FIRESTORE_NATIVE"
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_DISABLED"
  delete_protection_state           = var.protect ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = local.deletion_policy

  depends_on = [google_project_service.this["firestore"]]
}

resource "google_firestore_field" "expiry" {
  for_each = local.firestore_collections

  database   = google_firestore_database.this.name
  collection = each.key
  field      = each.value

  ttl_config {}
  index_config {} # none
}

resource "google_project_iam_member" "uses_firestore" {
  for_each = local.uses_firestore ? local.readers : {}

  project = var.project_id
  role    = "roles/datastore.user"
  member  = each.value

  condition {
    title      = "this database only"
    expression = "resource.name == \"${google_firestore_database.this.id}\""
  }
}
