// @ts-check
/** The inbox: questions first, picture first, then alerts. Acknowledging alerts never touches a question. */

import { html, repeat } from "../vendor/lit.js";
import { Ticking, complain, toast } from "./element.js";
import { ago, countdown, moveWords, whoWords } from "./format.js";
import { acknowledge, acknowledgeAll, alerts, answer, questions } from "./host.js";
import { Loaded, empty } from "./loading.js";
import { attributed, runLink, shot } from "./parts.js";
import { address, go } from "./router.js";
import { session } from "./session.js";

/** @typedef {import("./rows.js").Approval} Approval */
/** @typedef {import("./rows.js").Alert} Alert */

class Inbox extends Ticking {
  static properties = { _busy: { state: true } };

  constructor() {
    super();
    this._busy = "";
    this._asks = new Loaded(this, questions, ["approval."]);
    this._alerts = new Loaded(this, alerts, ["alert."]);
  }

  /** @param {Approval} ask @param {string} reply */
  async _reply(ask, reply) {
    this._busy = ask.id;
    try {
      const { run_id: run } = await answer(ask.id, reply);
      if (ask.rehearsal) toast("Rehearsed. The run shows what would have been done.");
      else toast(`You answered “${reply}”.`, { words: "See what it does", address: address("runs", ask.run_id) });
      if (ask.rehearsal && run) go("runs", run);
    } catch (error) {
      complain(error);
    } finally {
      this._busy = "";
    }
    await this._asks.reload();
  }

  /** @param {Promise<unknown>} sent */
  async _acknowledge(sent) {
    try {
      await sent;
    } catch (error) {
      complain(error);
    }
    await this._alerts.reload();
  }

  render() {
    return html`<h1 tabindex="-1">Inbox</h1>
      <section aria-labelledby="asks">
        <h2 id="asks">Questions</h2>
        ${this._asks.view((value) => this._questions(value.approvals))}
      </section>
      <section aria-labelledby="alerts">
        <h2 id="alerts">Alerts</h2>
        ${this._alerts.view((value) => this._all(value.alerts))}
      </section>`;
  }

  /** @param {Approval[]} asks */
  _questions(asks) {
    const open = asks.filter((ask) => ask.state === "open" && !ask.rehearsal);
    const rehearsals = asks.filter((ask) => ask.state === "open" && ask.rehearsal);
    const over = asks.filter((ask) => ask.state !== "open");
    return html`${
      open.length
        ? html`<ul class="sw-asks-list">
            ${repeat(
              open,
              (ask) => ask.id,
              (ask) => this._open(ask),
            )}
          </ul>`
        : empty("No question waits", "When a workflow that is On asks, its question appears here with the picture.")
    }
    ${
      rehearsals.length
        ? html`<details class="sw-earlier" ?open=${open.length === 0}>
            <summary>Rehearsals of Test runs (${rehearsals.length})</summary>
            <p class="sw-soft">Answer as you would: a run of its own shows what it would have done. Nothing moves.</p>
            <ul class="sw-asks-list">
              ${repeat(
                rehearsals,
                (ask) => ask.id,
                (ask) => this._open(ask),
              )}
            </ul>
          </details>`
        : ""
    }
    ${
      over.length
        ? html`<details class="sw-earlier">
            <summary>Earlier questions</summary>
            <ul class="sw-list">
              ${repeat(over, (ask) => ask.id, earlier)}
            </ul>
          </details>`
        : ""
    }`;
  }

  /** @param {Approval} ask */
  _open(ask) {
    const { words, marks } = attributed(ask.message, ask.shown);
    const left = countdown(ask.due_at, Date.now());
    return html`<li class="sw-card sw-ask">
      ${shot(ask.picture, `What ${ask.camera ?? "the site"} shows`, "is-large")}
      <div class="sw-ask-body">
        <p class="sw-soft">
          <bdi>${ask.workflow}</bdi>${ask.camera ? html`, camera <bdi>${ask.camera}</bdi>` : ""},
          ${ago(ask.asked_at, Date.now())}${ask.rehearsal ? html` <span class="sw-pill is-test">Rehearsal</span>` : ""}
        </p>
        <p class="sw-question" dir="auto">${words}</p>
        ${marks ? html`<p class="sw-soft"><mark class="sw-said">Marked words</mark> are the model's. It can be wrong: look at the picture.</p>` : ""}
        <div class="sw-replies">${ask.replies.map((entry) => this._button(ask, entry))}</div>
        ${ask.may_answer ? "" : html`<p class="sw-soft">This question is for ${ask.who.map(whoWords).join(", ")}.</p>`}
        <p class="sw-left">
          ${ask.due_at === null ? "No time limit" : left === null ? "The time is over" : html`<strong class="sw-count">${left}</strong> left`}${ask.due_at === null ? "" : html`, then ${ask.default ? html`it counts as “<bdi>${ask.default}</bdi>”` : "it counts as not answered"}`}.
          ${runLink(ask.run_id, "See the run")}
        </p>
      </div>
    </li>`;
  }

  /** @param {Approval} ask @param {import("./rows.js").Reply} entry */
  _button(ask, entry) {
    return html`<button
      class="sw-reply ${entry.moves.length ? "is-moving" : ""}"
      ?disabled=${!ask.may_answer || this._busy === ask.id}
      @click=${() => this._reply(ask, entry.reply)}
    >
      <bdi>${entry.reply}</bdi
      ><small dir="auto">${entry.moves.length ? entry.moves.map(moveWords).join(", ") : "moves nothing"}</small>
    </button>`;
  }

  /** @param {Alert[]} alerts */
  _all(alerts) {
    if (alerts.length === 0) return empty("No alerts", "What workflows raise appears here.");
    const open = alerts.filter((alert) => alert.acknowledged_at === null);
    const may = session.may("workflows.approve");
    return html` ${may && open.length > 1 ? html`<p><button class="sw-button" @click=${() => this._acknowledge(acknowledgeAll())}>Acknowledge all alerts</button> <span class="sw-soft">Questions stay open.</span></p>` : ""}
      <ul class="sw-list">
        ${repeat(
          alerts,
          (alert) => alert.id,
          (alert) => this._alert(alert, may),
        )}
      </ul>`;
  }

  /** @param {Alert} alert @param {boolean} may */
  _alert(alert, may) {
    return html`<li class="sw-card sw-alert is-${alert.severity} ${alert.acknowledged_at ? "is-seen" : ""}">
      <div>
        <p>
          <span class="sw-severity">${alert.kind === "notification" ? "message" : alert.severity}</span>
          <strong dir="auto">${alert.title}</strong>
        </p>
        ${alert.message ? html`<p dir="auto">${alert.message}</p>` : ""}
        ${alert.clamped_why ? html`<p class="sw-soft">Asked for ${alert.asked_severity}: ${alert.clamped_why}</p>` : ""}
        <p class="sw-soft">
          ${alert.camera ? html`<bdi>${alert.camera}</bdi>, ` : ""}${ago(alert.at, Date.now())}${alert.run_id ? html`, ${runLink(alert.run_id, "see the run")}` : ""}${alert.acknowledged_by ? html`, seen by <bdi>${whoWords(alert.acknowledged_by)}</bdi>` : ""}
        </p>
      </div>
      ${alert.pictures.slice(0, 1).map((id) => shot(id, "Picture of the alert", "is-small"))}
      ${may && !alert.acknowledged_at ? html`<button class="sw-button" @click=${() => this._acknowledge(acknowledge(alert.id))}>Acknowledge</button>` : ""}
    </li>`;
  }
}

/** A question that is over. @param {Approval} ask */
function earlier(ask) {
  const how =
    ask.state === "answered"
      ? html`<bdi>${whoWords(ask.answered_by ?? "")}</bdi> answered “<bdi>${ask.reply}</bdi>”,
          ${ago(ask.answered_at ?? ask.asked_at, Date.now())}`
      : ask.state === "no_answer"
        ? "Nobody answered in time"
        : "No longer asked";
  return html`<li class="sw-card sw-run-row">
    ${shot(ask.picture, "The picture of the question", "is-small")}
    <div>
      <p dir="auto">${ask.message}</p>
      <p class="sw-soft">${how}. ${runLink(ask.run_id, "See the run")}</p>
    </div>
  </li>`;
}
customElements.define("sw-inbox", Inbox);
