"""The phase before training: tables read by the schema, and one preparation for all of them."""
