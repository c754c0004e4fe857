import Records
import Settings
import UAF
public import _Primitives

/// The link by which a phone enrols as a device of an account, as given out once.
public struct EnrolmentLink: Sendable, Equatable {
    public let id: String
    /// The link for the phone.
    public let link: String
    /// The content of a QR code for the phone.
    public let qrContent: String
    /// The time until which the link can be redeemed.
    public let expiresAt: Timestamp
}

/// The state of an enrolment, for operators.
public struct EnrolmentView: Sendable, Equatable {
    /// The words for a state, for operators.
    public enum State: String, Sendable, CaseIterable {
        case created, claimed
        case pendingConfirmation = "pending-confirmation"
        case succeeded, denied, failed, expired, cancelled
    }

    public let id: String
    /// The state.
    public let state: State
    /// The user name of the device's future owner; `nil` if the account is gone or has no user name.
    public let username: String?
    /// The phone's own name for itself, known from its answer on.
    public let deviceName: String?
    /// The end of the present state.
    public let expiresAt: Timestamp
}

/// Enrolments of devices at the request of operators.
public struct Enrolments: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & CeremonyStore
    let hub: CeremonyHub

    /// Makes a link that enrols a device of an account, by a named policy or by the default policy. `operator` is the
    /// name for the audit trail.
    ///
    /// Throws `notFound` for an unknown account, `locked` for a locked account, whose devices could not authenticate,
    /// and `invalidRequest` for an unknown policy.
    public func createEnrolmentLink(username: String, policy: String? = nil, by operator: String) async throws
        -> EnrolmentLink
    {
        guard let name = AccountName(username, limits: self.limits),
            let account = try await self.store.account(reference: name)
        else { throw CeremonyError(.notFound) }
        guard !account.isLocked else { throw CeremonyError(.locked) }
        _ = try self.rules.value.policy(named: policy, for: .registration)
        let now = self.time.now()
        let expiresAt = now + self.limits.activationLifetime
        let codes = DispatchCodes(expiresAt: expiresAt, random: self.random, limits: self.limits)
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: .registration, accountID: account.id, createdAt: now, expiresAt: expiresAt,
            detail: CeremonyDetail(
                service: self.configuration.serviceName, origin: self.configuration.issuer, policy: policy))
        try await self.store.createCeremony(
            ceremony, tokens: codes.records([.linkQRCode, .link], sealing: self.sealing),
            audit: AuditEvent(
                .enrolmentLinkCreated, at: now, accountID: account.id, ceremonyID: ceremony.id, actor: `operator`))
        return EnrolmentLink(
            id: ceremony.id, link: try self.configuration.link(token: codes.linkToken, kind: .registration),
            qrContent: try self.configuration.link(token: codes.qrToken, kind: .registration), expiresAt: expiresAt)
    }

    /// Returns the state of an enrolment. Throws `notFound`.
    public func enrolment(id: String) async throws -> EnrolmentView {
        guard let record = try await self.store.ceremony(.id(id)), record.kind == .registration else {
            throw CeremonyError(.notFound)
        }
        return try await self.view(of: record)
    }

    /// Confirms an enrolment with the number from the phone's screen. From then on the device may authenticate, and the
    /// person's other devices get a notice.
    ///
    /// The same step deletes the keys that the enrolment replaces, and a device of the person without remaining keys:
    /// the phone has proved to be that device.
    ///
    /// A wrong number ends the enrolment and deletes the pending keys. Throws `wrongNumber`, `wrongState`, `notFound`.
    public func confirmEnrolment(id: String, number: String, by operator: String) async throws -> EnrolmentView {
        let now = self.time.now()
        guard let before = try await self.store.ceremony(.id(id)), before.kind == .registration else {
            throw CeremonyError(.notFound)
        }
        let deviceName = try await self.deviceName(of: before)
        let noticeID = self.newIdentifier()
        let code = self.environment.confirmationCode(String(number.filter { $0 != " " }), ceremonyID: id)
        let record: CeremonyRecord?
        do {
            record = try await self.store.change(.id(id)) { record in
                // Only the person's device approves, by a signature over the number.
                guard record.detail.approver == nil else { throw CeremonyError(.wrongState) }
                let isRight = constantTimeEqual(code, record.confirmationCode ?? [])
                var change = try self.environment.confirm(&record, isRight: isRight, by: `operator`, at: now)
                if isRight, let accountID = record.accountID {
                    change.notices = [
                        NoticeRecord(
                            id: noticeID, accountID: accountID, kind: .deviceAdded, at: now, subject: deviceName ?? "")
                    ]
                }
                return change
            }
        } catch is RefusedEvent {
            throw CeremonyError(.wrongState)
        } catch let error as StoreError where error.code == .conflict {
            // The device was deleted while it was pending.
            throw CeremonyError(.wrongState)
        }
        self.hub.wake(.ceremony(id))
        guard let record else { throw CeremonyError(.notFound) }
        guard record.outcome == .succeeded else { throw CeremonyError(.wrongNumber) }
        return try await self.view(of: record)
    }

    /// Confirms an enrolment that a client has dispatched, as ``confirmEnrolment(id:number:by:)``. Throws `forbidden` for
    /// a client that may not enrol devices, and `notFound` for an enrolment of anybody else.
    public func confirmEnrolment(id: String, number: String, client: DispatchingClient) async throws -> EnrolmentView {
        guard client.mayEnrol else { throw CeremonyError(.forbidden, "a client that may not enrol devices") }
        guard let record = try await self.store.ceremony(.id(id)), let owner = record.clientID,
            owner.hasSameBytes(as: client.id)
        else { throw CeremonyError(.notFound) }
        return try await self.confirmEnrolment(id: id, number: number, by: client.id)
    }

    /// Ends an enrolment of a further device of a person, as another device of the person wants. The pending device and
    /// its keys are deleted.
    ///
    /// Throws `notFound` for an enrolment of another account, `wrongState` for an enrolment that has ended, because a
    /// confirmed device is removed in another way, and `deviceLimited` for a device that was approved a short time ago.
    public func decline(id: String, by device: AuthenticatedDevice) async throws {
        let now = self.time.now()
        try await DeviceLimits(environment: self.environment, store: self.store).check(device)
        let record: CeremonyRecord?
        do {
            record = try await self.store.change(.id(id)) { record in
                guard record.kind == .registration, record.accountID == device.accountID else {
                    throw CeremonyError(.notFound)
                }
                try record.take(.cancel, at: now, limits: self.limits)
                record.confirmationCode = nil
                var change = CeremonyChange()
                change.deviceFate = .discard
                change.audit = [
                    AuditEvent(
                        .enrolmentDeclined, at: now, accountID: device.accountID, ceremonyID: id, actor: "device",
                        detail: device.deviceID)
                ]
                return change
            }
        } catch is RefusedEvent {
            throw CeremonyError(.wrongState)
        }
        guard record != nil else { throw CeremonyError(.notFound) }
        self.hub.wake(.ceremony(id))
    }

    private func view(of record: CeremonyRecord) async throws -> EnrolmentView {
        let account = try await record.accountID.asyncFlatMap { try await self.store.account(id: $0) }
        return EnrolmentView(
            id: record.id, state: EnrolmentView.State(record, at: self.time.now()), username: account?.username?.text,
            deviceName: try await self.deviceName(of: record), expiresAt: record.expiresAt)
    }

    private func deviceName(of record: CeremonyRecord) async throws -> String? {
        guard let accountID = record.accountID, let deviceID = record.deviceID else { return nil }
        return try await self.store.devices(accountID: accountID).first { $0.id == deviceID }?.name
    }
}

extension EnrolmentView.State {
    init(_ record: CeremonyRecord, at now: Timestamp) {
        if record.phase != .ended, now >= record.expiresAt {
            self = .expired
            return
        }
        switch (record.phase, record.outcome) {
        case (.created, _): self = .created
        case (.claimed, _): self = .claimed
        case (.answering, _): self = .pendingConfirmation
        case (.ended, .succeeded): self = .succeeded
        case (.ended, .denied): self = .denied
        case (.ended, .expired): self = .expired
        case (.ended, .cancelled): self = .cancelled
        case (.ended, .failed), (.ended, nil): self = .failed
        }
    }
}

extension Optional where Wrapped: Sendable {
    fileprivate func asyncFlatMap<Result>(_ transform: (Wrapped) async throws -> Result?) async rethrows -> Result? {
        guard let self else { return nil }
        return try await transform(self)
    }
}

extension AuditEvent.Kind {
    /// A device of the person has ended the enrolment of a further device. The detail is the declining device.
    fileprivate static let enrolmentDeclined = Self(rawValue: "enrolment-declined")
}
