-- What is known of a pull request, for events that name it by its number alone.
CREATE INDEX event_of_pull_request ON event (subject, seq) WHERE kind = 'pull_request';
