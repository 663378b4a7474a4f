// @ts-check
/** What the host can be asked, each with the type of its answer. Every page reads through here. */

import { get, post } from "./api.js";

/** @typedef {import("./rows.js").Me} Me */
/** @template T @typedef {Promise<T>} Soon */

const id = encodeURIComponent;
const TRY_SECONDS = 305;

/** @returns {Soon<import("./rows.js").FoundSession>} */
export const findSession = () => get("/session");
/** @param {boolean} setup @param {Record<string, unknown>} given @returns {Soon<Me>} */
export const enter = (setup, given) => post(setup ? "/setup" : "/login", given);
export const leave = () => post("/logout");

/** @returns {Soon<{workflows: import("./rows.js").ListedWorkflow[]}>} */
export const workflows = () => get("/workflows");
/** @param {string} workflow @returns {Soon<import("./rows.js").WholeWorkflow>} */
export const workflow = (workflow) => get(`/workflows/${id(workflow)}`);
/** @param {{id: string, version: number}} workflow @param {import("./rows.js").WorkflowState} state */
export const setState = (workflow, state) =>
  post(`/workflows/${id(workflow.id)}/state`, { state, base_version: workflow.version });
/** Decide the newest events on their stored pictures, without effects. @param {string} workflow @param {number} last @returns {Soon<{rows: import("./rows.js").Tried[]}>} */
export const tryWorkflow = (workflow, last) => post(`/workflows/${id(workflow)}/try`, { last }, TRY_SECONDS);

/** @returns {Soon<{runs: import("./rows.js").ListedRun[]}>} */
export const runs = () => get("/runs?limit=50");
/** @param {string} workflow @returns {Soon<{runs: import("./rows.js").ListedRun[]}>} */
export const runsOf = (workflow) => get(`/workflows/${id(workflow)}/runs?limit=50`);
/** @param {string} run @returns {Soon<import("./rows.js").WholeRun>} */
export const run = (run) => get(`/runs/${id(run)}`);
/** @param {string} run */
export const cancelRun = (run) => post(`/runs/${id(run)}/cancel`);

/** @returns {Soon<{approvals: import("./rows.js").Approval[]}>} */
export const questions = () => get("/approvals?limit=30");
/** @returns {Soon<{approvals: import("./rows.js").Approval[]}>} */
export const openQuestions = () => get("/approvals?open=true");
/** @param {string} ask @param {string} reply @returns {Soon<{approval: import("./rows.js").Approval, run_id: string | null}>} */
export const answer = (ask, reply) => post(`/approvals/${id(ask)}/reply`, { reply });

/** @returns {Soon<{alerts: import("./rows.js").Alert[]}>} */
export const alerts = () => get("/alerts?limit=50");
/** @param {string} alert */
export const acknowledge = (alert) => post(`/alerts/${id(alert)}/acknowledge`);
export const acknowledgeAll = () => post("/alerts/acknowledge");

/** @returns {Soon<{gates: import("./rows.js").Gate[], log: import("./rows.js").Move[]}>} */
export const gates = () => get("/gates");
/** @returns {Soon<{scene: string}>} */
export const playNext = () => post("/demo/next");
