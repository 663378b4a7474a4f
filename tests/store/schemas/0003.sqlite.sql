BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE alerts (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	run_id TEXT, 
	path TEXT, 
	workflow_id TEXT, 
	camera TEXT, 
	who TEXT, 
	severity TEXT NOT NULL, 
	asked_severity TEXT, 
	clamped_why TEXT, 
	title TEXT NOT NULL, 
	message TEXT, 
	"attach" TEXT DEFAULT '[]' NOT NULL, 
	correlation_id TEXT NOT NULL, 
	chain INTEGER DEFAULT '0' NOT NULL, 
	at FLOAT NOT NULL, 
	acknowledged_by TEXT, 
	acknowledged_at FLOAT, 
	CONSTRAINT pk_alerts PRIMARY KEY (id)
);
INSERT INTO "alerts" VALUES('alerts-id','alerts-kind','alerts-run_id','alerts-path','alerts-workflow_id','alerts-camera','alerts-who','alerts-severity','alerts-asked_severity','alerts-clamped_why','alerts-title','alerts-message','alerts-attach','alerts-correlation_id',15,1732991249.25,'alerts-acknowledged_by',1732991251.25);
CREATE TABLE audit (
	id TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	who TEXT NOT NULL, 
	from_address TEXT, 
	what TEXT NOT NULL, 
	target TEXT, 
	"before" TEXT, 
	"after" TEXT, 
	CONSTRAINT pk_audit PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES('audit-id',1732991235.25,'audit-who','audit-from_address','audit-what','audit-target','audit-before','audit-after');
CREATE TABLE counters (
	scope TEXT NOT NULL, 
	name TEXT NOT NULL, 
	bucket TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	until FLOAT, 
	sample TEXT, 
	CONSTRAINT pk_counters PRIMARY KEY (scope, name, bucket)
);
INSERT INTO "counters" VALUES('counters-scope','counters-name','counters-bucket',4,1732991238.25,'counters-sample');
CREATE TABLE destinations (
	name TEXT NOT NULL, 
	url_prefix TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	data_classes TEXT NOT NULL, 
	tells BOOLEAN DEFAULT '0' NOT NULL, 
	"by" TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	CONSTRAINT pk_destinations PRIMARY KEY (name)
);
INSERT INTO "destinations" VALUES('destinations-name','destinations-url_prefix','destinations-purpose','destinations-data_classes',1,'destinations-by',1732991240.25);
CREATE TABLE events (
	id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	source TEXT NOT NULL, 
	provenance TEXT NOT NULL, 
	camera TEXT, 
	at FLOAT NOT NULL, 
	accepted_at FLOAT NOT NULL, 
	correlation_id TEXT NOT NULL, 
	chain INTEGER DEFAULT '0' NOT NULL, 
	caused_by TEXT, 
	payload TEXT NOT NULL, 
	picture TEXT, 
	matched INTEGER, 
	CONSTRAINT pk_events PRIMARY KEY (id)
);
INSERT INTO "events" VALUES('events-id','events-type','events-source','events-provenance','events-camera',1732991239.25,1732991240.25,'events-correlation_id',9,'events-caused_by','events-payload','events-picture',13);
CREATE TABLE groups (
	"group" TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	CONSTRAINT pk_groups PRIMARY KEY ("group", user_id), 
	CONSTRAINT fk_groups_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "groups" VALUES('groups-group','users-id');
CREATE TABLE idempotency_keys (
	user_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	status INTEGER, 
	answer TEXT, 
	at FLOAT NOT NULL, 
	CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, "key"), 
	CONSTRAINT fk_idempotency_keys_user_id_users FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "idempotency_keys" VALUES('users-id','idempotency_keys-key','idempotency_keys-digest',4,'idempotency_keys-answer',1732991239.25);
CREATE TABLE integrations (
	domain TEXT NOT NULL, 
	enabled BOOLEAN NOT NULL, 
	settings TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_integrations PRIMARY KEY (domain)
);
INSERT INTO "integrations" VALUES('integrations-domain',1,'integrations-settings');
CREATE TABLE logs (
	id TEXT NOT NULL, 
	run_id TEXT, 
	path TEXT, 
	message TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	CONSTRAINT pk_logs PRIMARY KEY (id)
);
INSERT INTO "logs" VALUES('logs-id','logs-run_id','logs-path','logs-message',1732991238.25);
CREATE TABLE media (
	id TEXT NOT NULL, 
	camera TEXT, 
	content_type TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_media PRIMARY KEY (id)
);
INSERT INTO "media" VALUES('media-id','media-camera','media-content_type',1732991237.25,X'00FF2070696374757265');
CREATE TABLE outbox (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	topic TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	camera TEXT, 
	at FLOAT NOT NULL
);
INSERT INTO "outbox" VALUES(1,'outbox-topic','outbox-payload','outbox-camera',1732991238.25);
CREATE TABLE roles (
	kind TEXT NOT NULL, 
	role TEXT NOT NULL, 
	target TEXT NOT NULL, 
	settings TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_roles PRIMARY KEY (kind, role, target)
);
INSERT INTO "roles" VALUES('roles-kind','roles-role','roles-target','roles-settings');
CREATE TABLE sessions (
	token_hash TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	csrf TEXT NOT NULL, 
	created_at FLOAT NOT NULL, 
	expires_at FLOAT NOT NULL, 
	from_address TEXT, 
	CONSTRAINT pk_sessions PRIMARY KEY (token_hash), 
	CONSTRAINT fk_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "sessions" VALUES('sessions-token_hash','users-id','sessions-csrf',1732991237.25,1732991238.25,'sessions-from_address');
CREATE TABLE site_list_rows (
	id TEXT NOT NULL, 
	list TEXT NOT NULL, 
	"match" TEXT NOT NULL, 
	"values" TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	confirmed_by TEXT, 
	expires_at FLOAT, 
	at FLOAT NOT NULL, 
	CONSTRAINT pk_site_list_rows PRIMARY KEY (id), 
	CONSTRAINT fk_site_list_rows_list FOREIGN KEY(list) REFERENCES site_lists (name)
);
INSERT INTO "site_list_rows" VALUES('site_list_rows-id','site_lists-name','site_list_rows-match','site_list_rows-values','site_list_rows-by','site_list_rows-origin','site_list_rows-confirmed_by',1732991241.25,1732991242.25);
CREATE TABLE site_lists (
	name TEXT NOT NULL, 
	columns TEXT NOT NULL, 
	match_column TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	CONSTRAINT pk_site_lists PRIMARY KEY (name)
);
INSERT INTO "site_lists" VALUES('site_lists-name','site_lists-columns','site_lists-match_column',4);
CREATE TABLE site_rules (
	revision INTEGER NOT NULL, 
	facts TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	CONSTRAINT pk_site_rules PRIMARY KEY (revision)
);
INSERT INTO "site_rules" VALUES(1,'site_rules-facts','site_rules-by',1732991237.25);
CREATE TABLE site_settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	CONSTRAINT pk_site_settings PRIMARY KEY (name)
);
INSERT INTO "site_settings" VALUES('site_settings-name','site_settings-value',3);
CREATE TABLE user_cameras (
	user_id TEXT NOT NULL, 
	camera TEXT NOT NULL, 
	CONSTRAINT pk_user_cameras PRIMARY KEY (user_id, camera), 
	CONSTRAINT fk_user_cameras_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "user_cameras" VALUES('users-id','user_cameras-camera');
CREATE TABLE users (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	password TEXT, 
	disabled BOOLEAN DEFAULT '0' NOT NULL, 
	created_at FLOAT NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_name UNIQUE (name)
);
INSERT INTO "users" VALUES('users-id','users-name','users-role','users-password',1,1732991239.25);
CREATE TABLE waits (
	id TEXT NOT NULL, 
	run_id TEXT, 
	path TEXT, 
	kind TEXT NOT NULL, 
	due_at FLOAT, 
	state TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	event_type TEXT, 
	CONSTRAINT pk_waits PRIMARY KEY (id)
);
INSERT INTO "waits" VALUES('waits-id','waits-run_id','waits-path','waits-kind',1732991238.25,'waits-state','waits-payload','waits-event_type');
CREATE TABLE workflow_approvals (
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	path TEXT NOT NULL, 
	workflow_id TEXT NOT NULL, 
	camera TEXT, 
	who TEXT NOT NULL, 
	message TEXT NOT NULL, 
	replies TEXT NOT NULL, 
	"default" TEXT, 
	picture TEXT, 
	shown TEXT NOT NULL, 
	rehearsal BOOLEAN DEFAULT '0' NOT NULL, 
	state TEXT NOT NULL, 
	asked_at FLOAT NOT NULL, 
	due_at FLOAT, 
	reply TEXT, 
	answered_by TEXT, 
	answered_at FLOAT, 
	answered_boot FLOAT, 
	note TEXT, 
	CONSTRAINT pk_workflow_approvals PRIMARY KEY (id)
);
INSERT INTO "workflow_approvals" VALUES('workflow_approvals-id','workflow_approvals-run_id','workflow_approvals-path','workflow_approvals-workflow_id','workflow_approvals-camera','workflow_approvals-who','workflow_approvals-message','workflow_approvals-replies','workflow_approvals-default','workflow_approvals-picture','workflow_approvals-shown',1,'workflow_approvals-state',1732991247.25,1732991248.25,'workflow_approvals-reply','workflow_approvals-answered_by',1732991251.25,1732991252.25,'workflow_approvals-note');
CREATE TABLE workflow_run_steps (
	run_id TEXT NOT NULL, 
	path TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT, 
	status TEXT NOT NULL, 
	outcome TEXT, 
	inputs TEXT NOT NULL, 
	result TEXT, 
	"key" TEXT, 
	attempts INTEGER DEFAULT '0' NOT NULL, 
	started_at FLOAT NOT NULL, 
	ended_at FLOAT, 
	reason TEXT, 
	confidence FLOAT, 
	confidence_source TEXT, 
	self_reported FLOAT, 
	unsure_reason TEXT, 
	rule INTEGER, 
	model TEXT, 
	usage TEXT, 
	suspended TEXT, 
	CONSTRAINT pk_workflow_run_steps PRIMARY KEY (run_id, path), 
	CONSTRAINT fk_workflow_run_steps_run_id FOREIGN KEY(run_id) REFERENCES workflow_runs (id)
);
INSERT INTO "workflow_run_steps" VALUES('workflow_runs-id','workflow_run_steps-path',3,'workflow_run_steps-kind','workflow_run_steps-name','workflow_run_steps-status','workflow_run_steps-outcome','workflow_run_steps-inputs','workflow_run_steps-result','workflow_run_steps-key',11,1732991245.25,1732991246.25,'workflow_run_steps-reason',1732991248.25,'workflow_run_steps-confidence_source',1732991250.25,'workflow_run_steps-unsure_reason',19,'workflow_run_steps-model','workflow_run_steps-usage','workflow_run_steps-suspended');
CREATE TABLE workflow_runs (
	id TEXT NOT NULL, 
	workflow_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	mode TEXT NOT NULL, 
	state TEXT NOT NULL, 
	state_reason TEXT, 
	event_id TEXT NOT NULL, 
	correlation_id TEXT NOT NULL, 
	chain INTEGER NOT NULL, 
	one_key TEXT, 
	seen_again INTEGER DEFAULT '0' NOT NULL, 
	newest_picture TEXT, 
	position TEXT NOT NULL, 
	started_at FLOAT NOT NULL, 
	ended_at FLOAT, 
	lease_owner TEXT, 
	lease_until FLOAT, 
	fence INTEGER DEFAULT '0' NOT NULL, 
	mark TEXT, 
	revisions TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_workflow_runs PRIMARY KEY (id), 
	CONSTRAINT fk_workflow_runs_event_id FOREIGN KEY(event_id) REFERENCES events (id), 
	CONSTRAINT fk_workflow_runs_workflow_id FOREIGN KEY(workflow_id) REFERENCES workflows (id)
);
INSERT INTO "workflow_runs" VALUES('workflow_runs-id','workflows-id',3,'workflow_runs-mode','workflow_runs-state','workflow_runs-state_reason','events-id','workflow_runs-correlation_id',9,'workflow_runs-one_key',11,'workflow_runs-newest_picture','workflow_runs-position',1732991247.25,1732991248.25,'workflow_runs-lease_owner',1732991250.25,18,'workflow_runs-mark','workflow_runs-revisions');
CREATE TABLE workflow_tool_calls (
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	path TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	"row" TEXT NOT NULL, 
	CONSTRAINT pk_workflow_tool_calls PRIMARY KEY (id)
);
INSERT INTO "workflow_tool_calls" VALUES('workflow_tool_calls-id','workflow_tool_calls-run_id','workflow_tool_calls-path',4,'workflow_tool_calls-row');
CREATE TABLE workflow_versions (
	workflow_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	blueprint TEXT, 
	CONSTRAINT pk_workflow_versions PRIMARY KEY (workflow_id, version), 
	CONSTRAINT fk_workflow_versions_workflow_id FOREIGN KEY(workflow_id) REFERENCES workflows (id)
);
INSERT INTO "workflow_versions" VALUES('workflows-id',2,'workflow_versions-text','workflow_versions-sha256','workflow_versions-by',1732991239.25,'workflow_versions-blueprint');
CREATE TABLE workflows (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	attention TEXT, 
	source TEXT DEFAULT 'site' NOT NULL, 
	created_at FLOAT NOT NULL, 
	changed_at FLOAT NOT NULL, 
	CONSTRAINT pk_workflows PRIMARY KEY (id)
);
INSERT INTO "workflows" VALUES('workflows-id','workflows-name','workflows-state',4,'workflows-attention','workflows-source',1732991240.25,1732991241.25);
CREATE INDEX ix_alerts_at ON alerts (at);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_events_camera_at ON events (camera, at);
CREATE INDEX ix_events_type_at ON events (type, at);
CREATE INDEX ix_events_unmatched ON events (accepted_at) WHERE matched IS NULL;
CREATE INDEX ix_waits_due ON waits (due_at) WHERE state = 'open';
CREATE INDEX ix_waits_run_id ON waits (run_id);
CREATE INDEX ix_workflow_approvals_run_id ON workflow_approvals (run_id);
CREATE INDEX ix_workflow_approvals_state_due_at ON workflow_approvals (state, due_at);
CREATE INDEX ix_workflow_tool_calls_run_id_path ON workflow_tool_calls (run_id, path);
CREATE INDEX ix_site_list_rows_list_match ON site_list_rows (list, "match");
CREATE INDEX ix_workflow_runs_state ON workflow_runs (state);
CREATE INDEX ix_workflow_runs_workflow_id_started_at ON workflow_runs (workflow_id, started_at);
CREATE UNIQUE INDEX uq_runs_event ON workflow_runs (workflow_id, event_id, mode) WHERE mode IN ('on','test');
CREATE UNIQUE INDEX uq_runs_one_at_a_time ON workflow_runs (workflow_id, one_key) WHERE one_key IS NOT NULL AND state IN ('running','waiting');
CREATE INDEX ix_workflow_runs_event_id ON workflow_runs (event_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('outbox',1);
COMMIT;
