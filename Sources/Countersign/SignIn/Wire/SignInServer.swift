import Ceremony
import Foundation
import JOSE
import OAuth
import UAFClient
import _Primitives

extension SignInConfiguration {
    /// The face that the configuration names.
    var spoken: any SignInFace {
        switch self.face {
        case .openID: OpenIDFace(configuration: self)
        case .signInService(let addresses): SignInServiceFace(configuration: self, addresses: addresses)
        }
    }
}

/// The server from the view of a sign-in. The app sends forms, each with a proof that the app holds its key (RFC 9449).
struct SignInServer: Sendable {
    let configuration: SignInConfiguration
    let channel: SecureChannel
    let clock: any DeviceClock
    let random: RandomSource
    let traceRecorder: TraceRecorder?
    private let said = SaidByServer()

    init(
        configuration: SignInConfiguration, transport: any Transport, clock: any DeviceClock, random: RandomSource,
        traceRecorder: TraceRecorder?
    ) {
        self.configuration = configuration
        self.channel = SecureChannel(transport: transport)
        self.clock = clock
        self.random = random
        self.traceRecorder = traceRecorder
    }

    /// Posts a form. The proof contains the server's last nonce. If the server requests another nonce, or if the
    /// device's clock turns out to be wrong, the form is posted a second time and no more.
    ///
    /// - Parameters:
    ///   - key: The key of the proof; `nil` for a request without a proof.
    ///   - recording: The recording of the sign-in.
    ///   - event: The event of the form in the run; recorded once, though the form may be posted twice.
    func post(_ form: FormRequest, key: SigningKey?, _ recording: Recording, noting event: TraceEvent? = nil)
        async throws -> TransportResponse
    {
        let first = try await self.postOnce(form, key, recording, noting: event)
        guard key != nil, self.wantsAnotherProof(first.response, knowing: first.before) else { return first.response }
        return try await self.postOnce(form, key, recording).response
    }

    /// Asks the server for its nonce and its time, if this process knows no nonce of the server. The form contains
    /// nothing of the person; the person's input is therefore sent only once.
    func introduce(_ form: FormRequest, key: SigningKey, _ recording: Recording) async throws {
        guard self.said.state.nonce == nil else { return }
        _ = try await self.postOnce(form, key, recording)
    }

    /// Returns the header fields of a request to a resource: the access token, and the proof if the token is bound.
    func authorization(method: String, url: URL, token: String, nonce: String?, key: SigningKey?) throws -> [(
        name: String, value: String
    )] {
        guard let key else { return [("Authorization", "Bearer \(token)")] }
        guard let target = TargetURI(url.absoluteString) else { throw SignInError(.misconfigured, "not an address") }
        return [("Authorization", "DPoP \(token)")]
            + (try self.proof(method, target, key, token: token, nonce: nonce))
    }

    /// Returns a recording of one operation. The requests carry the given trace identifier, or a new identifier if `trace`
    /// is `nil`.
    func newRecording(of trace: TraceID? = nil) -> Recording {
        Recording(recorder: self.traceRecorder, random: self.random, trace: trace)
    }

    /// Stores the values of a server's answer that later proofs need: its nonce, and its clock.
    func hear(_ response: TransportResponse) {
        self.said.hear(response, at: self.clock.now())
    }

    /// Returns the body of an answer as an object; an empty object if the body is not an object.
    func body(of response: TransportResponse) -> JSONObject {
        guard case .object(let object)? = try? JSON(parsing: response.body, limits: JSONLimits(bytes: 65_536)) else {
            return [:]
        }
        return object
    }

    private func postOnce(
        _ form: FormRequest, _ key: SigningKey?, _ recording: Recording, noting event: TraceEvent? = nil
    ) async throws -> (response: TransportResponse, before: SaidByServer.State) {
        guard let url = self.configuration.address(form.path), let target = TargetURI(url.absoluteString) else {
            throw SignInError(.misconfigured, "no address of the server")
        }
        let headers: [(name: String, value: String)] = [
            ("Accept", "application/json"), ("Content-Type", "application/x-www-form-urlencoded"),
        ]
        let before = self.said.state
        let response = try await self.channel.send(
            TransportRequest(
                method: "POST", url: url, headers: headers + self.proof("POST", target, key),
                body: Array(form.parameters.encoded.utf8),
                timeout: self.configuration.networkTimeout),
            recording, noting: event)
        self.hear(response)
        return (response, before)
    }

    private func proof(
        _ method: String, _ target: TargetURI, _ key: SigningKey?, token: String? = nil, nonce: String? = nil
    ) throws -> [(name: String, value: String)] {
        guard let key else { return [] }
        let said = self.said.state
        let proof = try DPoPProof.make(
            method: method, target: target, accessToken: token, nonce: nonce ?? said.nonce, with: key,
            at: self.clock.now() + said.clockOffset, random: self.random)
        return [(DPoPProof.header, proof)]
    }

    /// Returns `true` if only the proof caused the refusal, and the next proof will differ.
    private func wantsAnotherProof(_ response: TransportResponse, knowing before: SaidByServer.State) -> Bool {
        guard response.status == 400 || response.status == 401 else { return false }
        guard let refusal = self.configuration.spoken.refusal(in: self.body(of: response)) else { return false }
        let now = self.said.state
        if refusal.hasSameBytes(as: OAuthError.Code.useDPoPNonce.rawValue) { return now.nonce != before.nonce }
        return refusal.hasSameBytes(as: OAuthError.Code.invalidDPoPProof.rawValue)
            && now.clockOffset != before.clockOffset
    }
}

/// The server's values on which later requests depend.
// Safe to share: every access to `kept` is within `lock`.
final class SaidByServer: @unchecked Sendable {
    struct State: Sendable {
        var nonce: String?
        /// The difference by which the server's clock is ahead of this device's clock, if the difference is more than a
        /// few seconds.
        var clockOffset: Duration = .zero
    }

    private let lock = NSLock()
    private var kept = State()

    var state: State { self.lock.withLock { self.kept } }

    func hear(_ response: TransportResponse, at now: Timestamp) {
        self.lock.withLock {
            if let nonce = response.header("DPoP-Nonce"), (1...256).contains(nonce.utf8.count) {
                self.kept.nonce = nonce
            }
            guard let date = response.header("Date").flatMap(Timestamp.init(httpDate:)) else { return }
            let offset = date - now
            // The field has whole seconds, and the answer has travelled: a difference of a few seconds does not count.
            self.kept.clockOffset = (.seconds(-5) ... .seconds(5)).contains(offset) ? .zero : offset
        }
    }
}
