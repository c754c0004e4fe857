import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import Texts
import _Primitives

/// The pages on which a person sees the devices of their account, reports a device as lost, and takes it back.
///
/// A report needs a sign-in of a few minutes ago, by two factors, and takes nothing away for good. The return needs the
/// same sign-in, which a device that rests cannot give, and a confirmation: by another phone of the account, or without
/// one by password and code.
struct OwnDeviceRoutes: Sendable {
    let devices: LostDevices
    let provider: OpenIDProvider
    let changes: ConfirmedChanges
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let time: TimeSource

    /// The endpoints of the list and of the two questions.
    var endpoints: [Endpoint] {
        let device = DescribedField.required("device", "The device.")
        let gone = (status: 404, meaning: "The account has no such device, or the device is in that state already.")
        return [
            Endpoint(
                method: .get, path: IdentityPaths.devices, id: "ownDevices", summary: "The devices of an account.",
                effect: .none, answers: [.page], refusals: .pages, refusing: [Self.nobodyMeaning], get: .reads,
                handler: self.answers.page(self.list)),
            self.question(IdentityPaths.deviceLost, "askForReport", "The question whether a device is lost.", device),
            Endpoint(
                method: .post, path: IdentityPaths.deviceLost, id: "reportOwnDevice",
                summary: "A lost device rests: it authenticates nowhere.", effect: .takesAway,
                body: (.form, [OwnIdentityRoutes.confirmationField, device]), answers: [.page], refusals: .pages,
                refusing: [OwnIdentityRoutes.notFresh, gone], handler: self.answers.page(self.report)),
            self.question(
                IdentityPaths.deviceReturn, "askForReturn", "The question whether a lost device comes back.", device),
            Endpoint(
                method: .post, path: IdentityPaths.deviceReturn, id: "returnOwnDevice",
                summary: "A device that rests authenticates again.", effect: .gives,
                body: (.form, [OwnIdentityRoutes.confirmationField, device, ConfirmedChanges.described]),
                answers: [.page, .goOn], refusals: .pages,
                refusing: [Endpoint.tooMany, OwnIdentityRoutes.notFresh, gone],
                handler: self.answers.page(self.bringBack)),
        ]
    }

    private static let nobodyMeaning = (status: 403, meaning: "Nobody is signed in.")

    /// Returns the endpoint of a question about a device.
    private func question(_ path: String, _ id: String, _ summary: String, _ device: DescribedField) -> Endpoint {
        let isReport = path == IdentityPaths.deviceLost
        return Endpoint(
            method: .get, path: path, id: id, summary: summary, effect: .none, query: [device], answers: [.page],
            refusals: .pages, refusing: [OwnIdentityRoutes.notFresh, (404, "There is no such device.")], get: .reads,
            handler: self.answers.page { try await self.ask(isReport: isReport, $0, $1) })
    }

    /// A person who is signed in here.
    private struct Visitor {
        let session: SessionSecret
        let active: ActiveSession
    }

    private func visitor(_ request: Request) async throws -> Visitor? {
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return nil }
        return Visitor(session: session, active: active)
    }

    private func result(
        _ outcome: ResultPage.Outcome, _ notice: Notice, status: HTTPResponse.Status, target: String? = nil
    ) -> Response {
        .page(self.answers.pages.html(ResultPage(outcome, notice, target: target)), status: status)
    }

    private var nobody: Response {
        self.result(.refused, .nobodyIsSignedIn(mayBeInvited: false), status: .forbidden)
    }

    private var gone: Response {
        self.result(.done, .noDevice, status: .notFound, target: IdentityPaths.devices)
    }

    /// Refuses a person who has signed in too long ago, or by one factor.
    private func stale(_ context: ServerContext) -> Response {
        context.notes.note(
            RequestRefusal(
                code: "stale-sign-in",
                reason: "A lost device is reported soon after a sign-in by two factors, and this one is not."))
        var page = ResultPage.stale(.lostDevice, self.limits)
        page.reference = context.reference
        return .page(self.answers.pages.html(page), status: .forbidden)
    }

    /// Returns the refusal of a report; `nil` if the person may report the device.
    private func refusal(ofReportOf device: DeviceRecord, by visitor: Visitor) async throws -> Response? {
        try await self.devices.reportableFrom(
            device.id, accountID: visitor.active.account, by: visitor.active.device
        ).map {
            self.result(
                .refused, .deviceIsLimited(until: $0.shownMinute), status: .forbidden, target: IdentityPaths.devices)
        }
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        // A device whose approval the person has disowned is not the person's. The page of changes has the approval.
        let devices = try await self.devices.devices(accountID: visitor.active.account).filter {
            !$0.standing.isDisowned
        }
        return .page(
            self.answers.pages.html(
                OwnDevicesPage(
                    devices: devices.map { device in
                        OwnDevicesPage.Device(
                            id: device.id, name: device.name, since: device.createdAt.shownMinute,
                            restedSince: device.standing.restedAt?.shownMinute)
                    })))
    }

    /// Returns the device of a request, in the state in which the question makes sense.
    private func device(_ id: String, isResting: Bool, of visitor: Visitor) async throws -> DeviceRecord? {
        try await self.devices.devices(accountID: visitor.active.account).first {
            $0.id.hasSameBytes(as: id) && $0.standing.mayAuthenticate != isResting && !$0.standing.isDisowned
        }
    }

    private func ask(isReport: Bool, _ request: Request, _ context: ServerContext) async throws -> Response {
        // An address without a device names no device of the account.
        guard let id = try? SignInAddress.parameter("device", of: request.uri.query ?? "") else { return self.gone }
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        guard visitor.active.isFresh(at: self.time.now(), self.limits) else { return self.stale(context) }
        guard let device = try await self.device(id, isResting: !isReport, of: visitor) else { return self.gone }
        if isReport, let refusal = try await self.refusal(ofReportOf: device, by: visitor) { return refusal }
        var fields = [("confirmation", self.cookies.formToken(visitor.session)), ("device", device.id)]
        let confirmed = try await self.changes.confirmed(request, accountID: visitor.active.account)
        if let confirmed, !isReport, confirmed.change == .returnOfDevice(id: device.id, name: device.name) {
            fields.append((ConfirmedChange.field, confirmed.reference))
        }
        return .page(
            self.answers.pages.html(
                ChangeQuestionPage(
                    isReport ? .reportDevice(name: device.name) : .returnDevice(name: device.name),
                    action: isReport ? IdentityPaths.deviceLost : IdentityPaths.deviceReturn, fields: fields)))
    }

    /// Returns the form of a person whose sign-in is fresh, with the device that the form names.
    private enum Read {
        case form(OAuth.Parameters, Visitor, DeviceRecord)
        case refused(Response)
    }

    private func read(isReport: Bool, _ request: Request, _ context: ServerContext) async throws -> Read {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return .refused(self.nobody) }
        try self.cookies.requireToken(of: form, visitor.session)
        guard visitor.active.isFresh(at: self.time.now(), self.limits) else { return .refused(self.stale(context)) }
        guard let id = form["device"],
            let device = try await self.device(id, isResting: !isReport, of: visitor)
        else { return .refused(self.gone) }
        return .form(form, visitor, device)
    }

    @Sendable private func report(_ request: Request, _ context: ServerContext) async throws -> Response {
        switch try await self.read(isReport: true, request, context) {
        case .refused(let response): return response
        case .form(_, let visitor, let device):
            if let refusal = try await self.refusal(ofReportOf: device, by: visitor) { return refusal }
            guard try await self.devices.report(device.id, accountID: visitor.active.account) else { return self.gone }
            return self.result(.done, .deviceRests(device.name), status: .ok, target: IdentityPaths.devices)
        }
    }

    @Sendable private func bringBack(_ request: Request, _ context: ServerContext) async throws -> Response {
        switch try await self.read(isReport: false, request, context) {
        case .refused(let response): return response
        case .form(let form, let visitor, let device):
            let account = visitor.active.account
            let parameters: OAuth.Parameters = ["device": device.id]
            if let asked = try await self.changes.answer(
                unlessConfirmed: .returnOfDevice(id: device.id, name: device.name),
                on: "\(IdentityPaths.deviceReturn)?\(parameters.encoded)", accountID: account,
                reference: form[ConfirmedChange.field], request, context)
            {
                return asked
            }
            guard try await self.devices.bringBack(device.id, accountID: account) else { return self.gone }
            return self.result(.done, .deviceReturned(device.name), status: .ok, target: IdentityPaths.devices)
        }
    }
}
