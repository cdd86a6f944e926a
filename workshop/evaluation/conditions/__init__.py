"""Reading under the conditions of a camera: smaller, turned, dark, smeared."""
