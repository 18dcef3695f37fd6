terraform {
  # 1.11: mocked values in plans of tests; validations that look at other variables need 1.9.
  required_version = ">= 1.11, < 2"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.33, < 9"
    }
    archive = {
      source  = "hashicorp/archive"
      version = ">= 2.4, < 3"
    }
    random = {
      source  = "hashicorp/random"
      version = ">= 3.6, < 4"
    }
  }

  # One state per environment: terraform init -backend-config=bucket=BUCKET -backend-config=prefix=ENVIRONMENT
  # The state holds the password of Redis and the envelope keys: nobody but the deployer may read the bucket.
  backend "gcs" {}
}

provider "google" {
  project = var.project_id
  region  = var.region

  default_labels = { application = var.name }
}
