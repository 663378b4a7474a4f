/** What the host answers, as its API describes it (`/api/v1/openapi.json`). Times are RFC 3339. */

export interface Person {
  name: string;
  role: string;
  groups: string[];
  cameras: string[] | null;
}
export interface Me {
  person: Person;
  permissions: string[];
  csrf: string;
  site: string;
  demo: boolean;
}
export interface FoundSession {
  me: Me | null;
  setup: boolean;
}

export type WorkflowState = "off" | "test" | "on";
export interface Workflow {
  id: string;
  name: string;
  state: WorkflowState;
  version: number;
  /** What is On while the newest version runs in Test beside it. */
  on_version: number | null;
  attention: string | null;
  source: string | null;
  changed_at: string;
}
export interface ListedWorkflow extends Workflow {
  last_run: { id: string; state: string; outcome: string | null; started_at: string } | null;
  runs_today: number;
  asks: number;
}
export interface FoundProblem {
  code: string;
  severity: string;
  message: string;
  path: (string | number)[];
  line: number;
  column: number;
}
export interface Judged {
  ok: boolean;
  problems: FoundProblem[];
  explain: { text: string; moves: string[] } | null;
  needs_admin: boolean;
}
export interface WholeWorkflow extends Workflow {
  text: string;
  on_text: string | null;
  saved_by: string;
  saved_at: string;
  judged: Judged;
}
export interface Tried {
  type: string;
  at: string;
  run: string | null;
  state: string;
  decision?: string | null;
  reason?: string | null;
  confidence?: number | null;
  would_have?: string[];
}

export interface Happened {
  id: string;
  type: string;
  camera: string | null;
  at: string;
  picture: string | null;
}
export interface ListedRun {
  id: string;
  workflow_id: string;
  workflow: string;
  version: number;
  mode: "on" | "test" | "try" | "replay";
  state: string;
  state_reason: string | null;
  started_at: string;
  ended_at: string | null;
  seen_again: number;
  outcome: string | null;
  event: Happened;
}
export interface WholeRun extends Omit<ListedRun, "event" | "outcome"> {
  event: Happened & { source: string; provenance: string; payload: Record<string, unknown> };
  steps: Step[];
  approvals: Approval[];
}
/** A value and where it comes from: `ai` is a model's word, `literal` the author's. */
export interface Given {
  value: unknown;
  from: string;
}
export interface Said {
  model: string | null;
  reason: string | null;
  confidence: number | null;
  confidence_source: string | null;
  unsure_reason: string | null;
  rule: number | null;
}
export interface StepResult {
  /** What an action gave back. */
  result?: { state?: string; before?: string; dry_run?: boolean };
  error?: unknown;
  would_have?: string;
  would_have_asked?: string;
  replies?: Reply[];
}
export interface Step {
  path: string;
  kind: string;
  name: string | null;
  status: string;
  outcome: string | null;
  inputs: Record<string, Given>;
  result: StepResult | string | number | boolean | null;
  pictures: string[];
  started_at: string;
  ended_at: string | null;
  attempts: number;
  model: Said | null;
}

export interface Reply {
  reply: string;
  moves: string[];
}
export interface Approval {
  id: string;
  run_id: string;
  /** The step that asked. */
  path: string;
  workflow_id: string;
  workflow: string;
  camera: string | null;
  who: string[];
  message: string;
  replies: Reply[];
  default: string | null;
  picture: string | null;
  shown: Record<string, Given>;
  rehearsal: boolean;
  state: "open" | "answered" | "no_answer" | "cancelled";
  asked_at: string;
  due_at: string | null;
  reply: string | null;
  answered_by: string | null;
  answered_at: string | null;
  may_answer: boolean;
}
export interface Alert {
  id: string;
  kind: string;
  run_id: string | null;
  workflow: string | null;
  camera: string | null;
  severity: string;
  asked_severity: string | null;
  clamped_why: string | null;
  title: string;
  message: string | null;
  pictures: string[];
  at: string;
  acknowledged_by: string | null;
  acknowledged_at: string | null;
}

export type GateState = "open" | "closed" | "unknown";
export interface Gate {
  role: string;
  name: string;
  state: GateState;
}
export interface Move {
  run_id: string;
  workflow: string;
  action: string;
  gate: string;
  status: string;
  started_at: string;
  ended_at: string | null;
  result: unknown;
  mode: string;
}
