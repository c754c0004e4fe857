import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Records
import _Primitives

/// Recognises a person's own device by the token of an authentication in the app. For some requests the device's own
/// proof is enough.
///
/// The token says that the person was present a moment ago. The proof only tells the device. So a request that needs
/// the person takes the token and nothing else.
struct DeviceAuthorization: Sendable {
    let provider: OpenIDProvider
    let directory: AccountDirectory
    let proofs: DeviceProofs

    // MARK: With its person

    /// Returns the account and the device of a request's token, even if the device was removed. Throws a 401
    /// ``Problem``.
    func holder(of request: Request) throws -> AuthenticatedDevice {
        do {
            let holder = try self.provider.tokens.holder(ofDeviceToken: request.authorization)
            return AuthenticatedDevice(accountID: holder.account, deviceID: holder.device)
        } catch let error as OAuthError {
            throw Self.unauthorized(error)
        }
    }

    /// Returns the token's device and account, if the device still exists: a removed device is refused at once.
    ///
    /// Throws a 401 ``Problem``. Cost: one query beside the token's verification.
    func device(of request: Request) async throws -> (device: AuthenticatedDevice, account: AccountRecord) {
        let device = try self.holder(of: request)
        guard let account = try await self.directory.account(id: device.accountID, ofDevice: device.deviceID) else {
            throw Self.unauthorized(
                OAuthError(.invalidToken, "The access token is not valid.", detail: "the device is gone"))
        }
        return (device, account)
    }

    /// Returns the token's account, if the account may authenticate. Throws a ``Problem``: 401, or 403 for a locked
    /// account.
    func account(of request: Request) async throws -> AccountRecord {
        try Self.unlocked(try await self.device(of: request).account)
    }

    // MARK: By itself

    /// Returns `true` if a device speaks for itself in a request.
    static func isProof(in request: Request) -> Bool {
        DeviceProofField.name.map { request.headers[$0] != nil } ?? false
    }

    /// Returns the device that has proved a request to the path `path` below the issuer, or to the same path with a
    /// slash at the end. The device may have been removed.
    ///
    /// Throws a ``Problem``: 401 `not-proven`, `replay-refused`, and `clock-skew` with the server's time; 429.
    func prover(of request: Request, at path: String, body: [UInt8] = [], _ context: ServerContext) async throws
        -> DeviceProofs.Prover
    {
        // Beside a token, or with several proofs, the server could not tell which value counts.
        let values = DeviceProofField.name.map { request.headers[values: $0] } ?? []
        guard values.count == 1, request.headers[.authorization] == nil else {
            throw Self.refused(.notProven)
        }
        do {
            return try await self.proofs.prover(
                of: IdentityCall(
                    method: request.method.rawValue,
                    path: path, body: body, proof: values[0],
                    source: context.source))
        } catch let refusal as DeviceProofRefusal {
            throw Self.refused(refusal)
        }
    }

    /// Returns a device that speaks for itself or has a token, and its account, if the account may authenticate.
    ///
    /// Throws a ``Problem`` as ``prover(of:at:body:_:)`` and ``account(of:)`` do.
    func caller(of request: Request, at path: String, _ context: ServerContext) async throws -> (
        device: AuthenticatedDevice, account: AccountRecord
    ) {
        guard Self.isProof(in: request) else {
            let (device, account) = try await self.device(of: request)
            return (device, try Self.unlocked(account))
        }
        let prover = try await self.presentProver(of: request, at: path, context)
        return (prover.device, prover.account)
    }

    /// Returns the device that has proved a request, if the device still exists and its account may authenticate.
    ///
    /// Throws a ``Problem`` as ``prover(of:at:body:_:)`` does, and 403 for a locked account and for a device that is
    /// reported as lost.
    func presentProver(of request: Request, at path: String, _ context: ServerContext) async throws
        -> DeviceProofs.Prover
    {
        let prover = try await self.prover(of: request, at: path, context)
        try Self.checkPresence(of: prover)
        return prover
    }

    /// Returns the device that has proved a request by itself, if the device and its account may authenticate.
    ///
    /// Throws a ``Problem`` as ``prover(of:at:body:_:)``, 401 for a removed device, and 403 for a locked account and for
    /// a device that is reported as lost.
    func provenDevice(of request: Request, at path: String, body: [UInt8] = [], _ context: ServerContext) async throws
        -> AuthenticatedDevice
    {
        let prover = try await self.prover(of: request, at: path, body: body, context)
        try Self.checkPresence(of: prover)
        return prover.device
    }

    private static func checkPresence(of prover: DeviceProofs.Prover) throws {
        guard !prover.isGone else { throw Self.refused(.notProven) }
        try Self.checkUse(of: prover)
        _ = try Self.unlocked(prover.account)
    }

    /// Throws a 403 ``Problem`` for a device that is reported as lost. A removed device is not judged here.
    static func checkUse(of prover: DeviceProofs.Prover) throws {
        guard prover.isGone || prover.standing.mayAuthenticate else {
            throw Problem(
                .forbidden, "device-rested",
                "The device is reported as lost. It comes back by another way of its account, or by an operator.")
        }
    }

    /// The answer to a proof by a key that is not the key of the named device.
    static var notProven: Problem { Self.refused(.notProven) }

    private static func unlocked(_ account: AccountRecord) throws -> AccountRecord {
        guard !account.isLocked else { throw Problem(.forbidden, "locked", "The account is locked.") }
        return account
    }

    /// Returns the problem document of a refusal, for the program that asks.
    private static func refused(_ refusal: DeviceProofRefusal) -> Problem {
        func unproven(_ name: String, _ detail: String, _ now: Timestamp? = nil) -> Problem {
            Problem(
                .unauthorized, name, detail, headers: [.wwwAuthenticate: DeviceProofField.text],
                members: now.map { ["now": .integer($0.milliseconds)] } ?? [:])
        }
        switch refusal {
        case .notProven:
            return unproven(
                "not-proven", "The device has not proved this. Authenticate, and send the token that comes of it.")
        case .replayRefused:
            return unproven("replay-refused", "The proof has counted before. Prove the request anew.")
        case .clockSkew(let now):
            return unproven(
                "clock-skew", "The device's clock is another. Prove the request anew, by the milliseconds of `now`.",
                now)
        case .tooManyRequests(let seconds):
            return Problem(
                .tooManyRequests, "too-many-requests",
                "Too many requests of this device, or too many that prove nothing. Come again later.",
                headers: [.retryAfter: String(seconds)])
        }
    }

    private static func unauthorized(_ error: OAuthError) -> Problem {
        Problem(
            .unauthorized, "unauthorized", "Authenticate first, and send the token that comes of it.",
            headers: [.wwwAuthenticate: error.challenge(scheme: "Bearer", realm: "countersign")])
    }
}
