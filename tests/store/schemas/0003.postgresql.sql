SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.alerts (
    id text NOT NULL,
    kind text NOT NULL,
    run_id text,
    path text,
    workflow_id text,
    camera text,
    who text,
    severity text NOT NULL,
    asked_severity text,
    clamped_why text,
    title text NOT NULL,
    message text,
    attach text DEFAULT '[]'::text NOT NULL,
    correlation_id text NOT NULL,
    chain integer DEFAULT 0 NOT NULL,
    at double precision NOT NULL,
    acknowledged_by text,
    acknowledged_at double precision
);
CREATE TABLE public.audit (
    id text NOT NULL,
    at double precision NOT NULL,
    who text NOT NULL,
    from_address text,
    what text NOT NULL,
    target text,
    before text,
    after text
);
CREATE TABLE public.counters (
    scope text NOT NULL,
    name text NOT NULL,
    bucket text NOT NULL,
    count integer NOT NULL,
    until double precision,
    sample text
);
CREATE TABLE public.destinations (
    name text NOT NULL,
    url_prefix text NOT NULL,
    purpose text NOT NULL,
    data_classes text NOT NULL,
    tells boolean DEFAULT false NOT NULL,
    by text NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.events (
    id text NOT NULL,
    type text NOT NULL,
    source text NOT NULL,
    provenance text NOT NULL,
    camera text,
    at double precision NOT NULL,
    accepted_at double precision NOT NULL,
    correlation_id text NOT NULL,
    chain integer DEFAULT 0 NOT NULL,
    caused_by text,
    payload text NOT NULL,
    picture text,
    matched integer
);
CREATE TABLE public.groups (
    "group" text NOT NULL,
    user_id text NOT NULL
);
CREATE TABLE public.idempotency_keys (
    user_id text NOT NULL,
    key text NOT NULL,
    digest text NOT NULL,
    status integer,
    answer text,
    at double precision NOT NULL
);
CREATE TABLE public.integrations (
    domain text NOT NULL,
    enabled boolean NOT NULL,
    settings text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.logs (
    id text NOT NULL,
    run_id text,
    path text,
    message text NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.media (
    id text NOT NULL,
    camera text,
    content_type text NOT NULL,
    at double precision NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.outbox (
    id bigint NOT NULL,
    topic text NOT NULL,
    payload text NOT NULL,
    camera text,
    at double precision NOT NULL
);
CREATE SEQUENCE public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.outbox_id_seq OWNED BY public.outbox.id;
CREATE TABLE public.roles (
    kind text NOT NULL,
    role text NOT NULL,
    target text NOT NULL,
    settings text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.sessions (
    token_hash text NOT NULL,
    user_id text NOT NULL,
    csrf text NOT NULL,
    created_at double precision NOT NULL,
    expires_at double precision NOT NULL,
    from_address text
);
CREATE TABLE public.site_list_rows (
    id text NOT NULL,
    list text NOT NULL,
    match text NOT NULL,
    "values" text NOT NULL,
    by text NOT NULL,
    origin text NOT NULL,
    confirmed_by text,
    expires_at double precision,
    at double precision NOT NULL
);
CREATE TABLE public.site_lists (
    name text NOT NULL,
    columns text NOT NULL,
    match_column text NOT NULL,
    revision integer NOT NULL
);
CREATE TABLE public.site_rules (
    revision integer NOT NULL,
    facts text NOT NULL,
    by text NOT NULL,
    at double precision NOT NULL
);
CREATE SEQUENCE public.site_rules_revision_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.site_rules_revision_seq OWNED BY public.site_rules.revision;
CREATE TABLE public.site_settings (
    name text NOT NULL,
    value text NOT NULL,
    revision integer NOT NULL
);
CREATE TABLE public.user_cameras (
    user_id text NOT NULL,
    camera text NOT NULL
);
CREATE TABLE public.users (
    id text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    password text,
    disabled boolean DEFAULT false NOT NULL,
    created_at double precision NOT NULL
);
CREATE TABLE public.waits (
    id text NOT NULL,
    run_id text,
    path text,
    kind text NOT NULL,
    due_at double precision,
    state text NOT NULL,
    payload text NOT NULL,
    event_type text
);
CREATE TABLE public.workflow_approvals (
    id text NOT NULL,
    run_id text NOT NULL,
    path text NOT NULL,
    workflow_id text NOT NULL,
    camera text,
    who text NOT NULL,
    message text NOT NULL,
    replies text NOT NULL,
    "default" text,
    picture text,
    shown text NOT NULL,
    rehearsal boolean DEFAULT false NOT NULL,
    state text NOT NULL,
    asked_at double precision NOT NULL,
    due_at double precision,
    reply text,
    answered_by text,
    answered_at double precision,
    answered_boot double precision,
    note text
);
CREATE TABLE public.workflow_run_steps (
    run_id text NOT NULL,
    path text NOT NULL,
    seq integer NOT NULL,
    kind text NOT NULL,
    name text,
    status text NOT NULL,
    outcome text,
    inputs text NOT NULL,
    result text,
    key text,
    attempts integer DEFAULT 0 NOT NULL,
    started_at double precision NOT NULL,
    ended_at double precision,
    reason text,
    confidence double precision,
    confidence_source text,
    self_reported double precision,
    unsure_reason text,
    rule integer,
    model text,
    usage text,
    suspended text
);
CREATE TABLE public.workflow_runs (
    id text NOT NULL,
    workflow_id text NOT NULL,
    version integer NOT NULL,
    mode text NOT NULL,
    state text NOT NULL,
    state_reason text,
    event_id text NOT NULL,
    correlation_id text NOT NULL,
    chain integer NOT NULL,
    one_key text,
    seen_again integer DEFAULT 0 NOT NULL,
    newest_picture text,
    "position" text NOT NULL,
    started_at double precision NOT NULL,
    ended_at double precision,
    lease_owner text,
    lease_until double precision,
    fence integer DEFAULT 0 NOT NULL,
    mark text,
    revisions text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.workflow_tool_calls (
    id text NOT NULL,
    run_id text NOT NULL,
    path text NOT NULL,
    seq integer NOT NULL,
    "row" text NOT NULL
);
CREATE TABLE public.workflow_versions (
    workflow_id text NOT NULL,
    version integer NOT NULL,
    text text NOT NULL,
    sha256 text NOT NULL,
    by text NOT NULL,
    at double precision NOT NULL,
    blueprint text
);
CREATE TABLE public.workflows (
    id text NOT NULL,
    name text NOT NULL,
    state text NOT NULL,
    version integer NOT NULL,
    attention text,
    source text DEFAULT 'site'::text NOT NULL,
    created_at double precision NOT NULL,
    changed_at double precision NOT NULL
);
ALTER TABLE ONLY public.outbox ALTER COLUMN id SET DEFAULT nextval('public.outbox_id_seq'::regclass);
ALTER TABLE ONLY public.site_rules ALTER COLUMN revision SET DEFAULT nextval('public.site_rules_revision_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0003');
INSERT INTO public.alerts VALUES ('alerts-id', 'alerts-kind', 'alerts-run_id', 'alerts-path', 'alerts-workflow_id', 'alerts-camera', 'alerts-who', 'alerts-severity', 'alerts-asked_severity', 'alerts-clamped_why', 'alerts-title', 'alerts-message', 'alerts-attach', 'alerts-correlation_id', 15, 1732991249.25, 'alerts-acknowledged_by', 1732991251.25);
INSERT INTO public.audit VALUES ('audit-id', 1732991235.25, 'audit-who', 'audit-from_address', 'audit-what', 'audit-target', 'audit-before', 'audit-after');
INSERT INTO public.counters VALUES ('counters-scope', 'counters-name', 'counters-bucket', 4, 1732991238.25, 'counters-sample');
INSERT INTO public.destinations VALUES ('destinations-name', 'destinations-url_prefix', 'destinations-purpose', 'destinations-data_classes', true, 'destinations-by', 1732991240.25);
INSERT INTO public.events VALUES ('events-id', 'events-type', 'events-source', 'events-provenance', 'events-camera', 1732991239.25, 1732991240.25, 'events-correlation_id', 9, 'events-caused_by', 'events-payload', 'events-picture', 13);
INSERT INTO public.groups VALUES ('groups-group', 'users-id');
INSERT INTO public.idempotency_keys VALUES ('users-id', 'idempotency_keys-key', 'idempotency_keys-digest', 4, 'idempotency_keys-answer', 1732991239.25);
INSERT INTO public.integrations VALUES ('integrations-domain', true, 'integrations-settings');
INSERT INTO public.logs VALUES ('logs-id', 'logs-run_id', 'logs-path', 'logs-message', 1732991238.25);
INSERT INTO public.media VALUES ('media-id', 'media-camera', 'media-content_type', 1732991237.25, '\x00ff2070696374757265');
INSERT INTO public.outbox VALUES (1, 'outbox-topic', 'outbox-payload', 'outbox-camera', 1732991238.25);
INSERT INTO public.roles VALUES ('roles-kind', 'roles-role', 'roles-target', 'roles-settings');
INSERT INTO public.sessions VALUES ('sessions-token_hash', 'users-id', 'sessions-csrf', 1732991237.25, 1732991238.25, 'sessions-from_address');
INSERT INTO public.site_list_rows VALUES ('site_list_rows-id', 'site_lists-name', 'site_list_rows-match', 'site_list_rows-values', 'site_list_rows-by', 'site_list_rows-origin', 'site_list_rows-confirmed_by', 1732991241.25, 1732991242.25);
INSERT INTO public.site_lists VALUES ('site_lists-name', 'site_lists-columns', 'site_lists-match_column', 4);
INSERT INTO public.site_rules VALUES (1, 'site_rules-facts', 'site_rules-by', 1732991237.25);
INSERT INTO public.site_settings VALUES ('site_settings-name', 'site_settings-value', 3);
INSERT INTO public.user_cameras VALUES ('users-id', 'user_cameras-camera');
INSERT INTO public.users VALUES ('users-id', 'users-name', 'users-role', 'users-password', true, 1732991239.25);
INSERT INTO public.waits VALUES ('waits-id', 'waits-run_id', 'waits-path', 'waits-kind', 1732991238.25, 'waits-state', 'waits-payload', 'waits-event_type');
INSERT INTO public.workflow_approvals VALUES ('workflow_approvals-id', 'workflow_approvals-run_id', 'workflow_approvals-path', 'workflow_approvals-workflow_id', 'workflow_approvals-camera', 'workflow_approvals-who', 'workflow_approvals-message', 'workflow_approvals-replies', 'workflow_approvals-default', 'workflow_approvals-picture', 'workflow_approvals-shown', true, 'workflow_approvals-state', 1732991247.25, 1732991248.25, 'workflow_approvals-reply', 'workflow_approvals-answered_by', 1732991251.25, 1732991252.25, 'workflow_approvals-note');
INSERT INTO public.workflow_run_steps VALUES ('workflow_runs-id', 'workflow_run_steps-path', 3, 'workflow_run_steps-kind', 'workflow_run_steps-name', 'workflow_run_steps-status', 'workflow_run_steps-outcome', 'workflow_run_steps-inputs', 'workflow_run_steps-result', 'workflow_run_steps-key', 11, 1732991245.25, 1732991246.25, 'workflow_run_steps-reason', 1732991248.25, 'workflow_run_steps-confidence_source', 1732991250.25, 'workflow_run_steps-unsure_reason', 19, 'workflow_run_steps-model', 'workflow_run_steps-usage', 'workflow_run_steps-suspended');
INSERT INTO public.workflow_runs VALUES ('workflow_runs-id', 'workflows-id', 3, 'workflow_runs-mode', 'workflow_runs-state', 'workflow_runs-state_reason', 'events-id', 'workflow_runs-correlation_id', 9, 'workflow_runs-one_key', 11, 'workflow_runs-newest_picture', 'workflow_runs-position', 1732991247.25, 1732991248.25, 'workflow_runs-lease_owner', 1732991250.25, 18, 'workflow_runs-mark', 'workflow_runs-revisions');
INSERT INTO public.workflow_tool_calls VALUES ('workflow_tool_calls-id', 'workflow_tool_calls-run_id', 'workflow_tool_calls-path', 4, 'workflow_tool_calls-row');
INSERT INTO public.workflow_versions VALUES ('workflows-id', 2, 'workflow_versions-text', 'workflow_versions-sha256', 'workflow_versions-by', 1732991239.25, 'workflow_versions-blueprint');
INSERT INTO public.workflows VALUES ('workflows-id', 'workflows-name', 'workflows-state', 4, 'workflows-attention', 'workflows-source', 1732991240.25, 1732991241.25);
SELECT pg_catalog.setval('public.outbox_id_seq', 1, false);
SELECT pg_catalog.setval('public.site_rules_revision_seq', 1, false);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT pk_alerts PRIMARY KEY (id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT pk_audit PRIMARY KEY (id);
ALTER TABLE ONLY public.counters
    ADD CONSTRAINT pk_counters PRIMARY KEY (scope, name, bucket);
ALTER TABLE ONLY public.destinations
    ADD CONSTRAINT pk_destinations PRIMARY KEY (name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (id);
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT pk_groups PRIMARY KEY ("group", user_id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, key);
ALTER TABLE ONLY public.integrations
    ADD CONSTRAINT pk_integrations PRIMARY KEY (domain);
ALTER TABLE ONLY public.logs
    ADD CONSTRAINT pk_logs PRIMARY KEY (id);
ALTER TABLE ONLY public.media
    ADD CONSTRAINT pk_media PRIMARY KEY (id);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT pk_outbox PRIMARY KEY (id);
ALTER TABLE ONLY public.roles
    ADD CONSTRAINT pk_roles PRIMARY KEY (kind, role, target);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.site_list_rows
    ADD CONSTRAINT pk_site_list_rows PRIMARY KEY (id);
ALTER TABLE ONLY public.site_lists
    ADD CONSTRAINT pk_site_lists PRIMARY KEY (name);
ALTER TABLE ONLY public.site_rules
    ADD CONSTRAINT pk_site_rules PRIMARY KEY (revision);
ALTER TABLE ONLY public.site_settings
    ADD CONSTRAINT pk_site_settings PRIMARY KEY (name);
ALTER TABLE ONLY public.user_cameras
    ADD CONSTRAINT pk_user_cameras PRIMARY KEY (user_id, camera);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);
ALTER TABLE ONLY public.waits
    ADD CONSTRAINT pk_waits PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_approvals
    ADD CONSTRAINT pk_workflow_approvals PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_run_steps
    ADD CONSTRAINT pk_workflow_run_steps PRIMARY KEY (run_id, path);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT pk_workflow_runs PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_tool_calls
    ADD CONSTRAINT pk_workflow_tool_calls PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_versions
    ADD CONSTRAINT pk_workflow_versions PRIMARY KEY (workflow_id, version);
ALTER TABLE ONLY public.workflows
    ADD CONSTRAINT pk_workflows PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_name UNIQUE (name);
CREATE INDEX ix_alerts_at ON public.alerts USING btree (at);
CREATE INDEX ix_audit_at ON public.audit USING btree (at);
CREATE INDEX ix_events_camera_at ON public.events USING btree (camera, at);
CREATE INDEX ix_events_type_at ON public.events USING btree (type, at);
CREATE INDEX ix_events_unmatched ON public.events USING btree (accepted_at) WHERE (matched IS NULL);
CREATE INDEX ix_site_list_rows_list_match ON public.site_list_rows USING btree (list, match);
CREATE INDEX ix_waits_due ON public.waits USING btree (due_at) WHERE (state = 'open'::text);
CREATE INDEX ix_waits_run_id ON public.waits USING btree (run_id);
CREATE INDEX ix_workflow_approvals_run_id ON public.workflow_approvals USING btree (run_id);
CREATE INDEX ix_workflow_approvals_state_due_at ON public.workflow_approvals USING btree (state, due_at);
CREATE INDEX ix_workflow_runs_event_id ON public.workflow_runs USING btree (event_id);
CREATE INDEX ix_workflow_runs_state ON public.workflow_runs USING btree (state);
CREATE INDEX ix_workflow_runs_workflow_id_started_at ON public.workflow_runs USING btree (workflow_id, started_at);
CREATE INDEX ix_workflow_tool_calls_run_id_path ON public.workflow_tool_calls USING btree (run_id, path);
CREATE UNIQUE INDEX uq_runs_event ON public.workflow_runs USING btree (workflow_id, event_id, mode) WHERE (mode = ANY (ARRAY['on'::text, 'test'::text]));
CREATE UNIQUE INDEX uq_runs_one_at_a_time ON public.workflow_runs USING btree (workflow_id, one_key) WHERE ((one_key IS NOT NULL) AND (state = ANY (ARRAY['running'::text, 'waiting'::text])));
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT fk_groups_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT fk_idempotency_keys_user_id_users FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.site_list_rows
    ADD CONSTRAINT fk_site_list_rows_list FOREIGN KEY (list) REFERENCES public.site_lists(name);
ALTER TABLE ONLY public.user_cameras
    ADD CONSTRAINT fk_user_cameras_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.workflow_run_steps
    ADD CONSTRAINT fk_workflow_run_steps_run_id FOREIGN KEY (run_id) REFERENCES public.workflow_runs(id);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT fk_workflow_runs_event_id FOREIGN KEY (event_id) REFERENCES public.events(id);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT fk_workflow_runs_workflow_id FOREIGN KEY (workflow_id) REFERENCES public.workflows(id);
ALTER TABLE ONLY public.workflow_versions
    ADD CONSTRAINT fk_workflow_versions_workflow_id FOREIGN KEY (workflow_id) REFERENCES public.workflows(id);
