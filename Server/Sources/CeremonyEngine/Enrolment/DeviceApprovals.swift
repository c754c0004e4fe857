import Ceremony
import Records
import Settings
import UAF
public import _Primitives

/// A device that has proved itself, and that approves another device of its person.
public struct ApprovingDevice: Sendable, Equatable {
    /// The device.
    public let device: AuthenticatedDevice
    /// The name of the key by which the device has proved itself: its thumbprint (RFC 7638). Several registrations of one
    /// phone have the same key.
    public let keyName: String

    /// Names a device by its registration and its key.
    public init(device: AuthenticatedDevice, keyName: String) {
        self.device = device
        self.keyName = keyName
    }
}

/// The approval of a new device, as the approving device sees it.
public struct DeviceApprovalView: Sendable, Equatable {
    /// The new device in words, for the person.
    public struct Asking: Sendable, Equatable {
        /// The device's own name for itself.
        public let name: String
        /// The models of the device's authenticators.
        public let model: String
        /// The network from which the device answered.
        public let network: String
    }

    /// The identifier of the enrolment.
    public let id: String
    /// The state of the enrolment.
    public let state: EnrolmentView.State
    /// The new device; `nil` until the device has answered, and after the end.
    public let asking: Asking?
    /// The end of the present state.
    public let expiresAt: Timestamp
}

/// The question by which a person approves a new device on the approving device.
public struct DeviceApprovalQuestion: Sendable, Equatable {
    /// The payload that gives the question to a device, once: the plain form of an out-of-band payload.
    public let payload: String
    /// The time until which the payload can be redeemed.
    public let expiresAt: Timestamp
}

/// Enrolments of new devices that another device of the person approves, without an operator (decision 127).
///
/// The approving device shows a code. The new device redeems the code and shows its number (decision 4). The person
/// types the number on the approving device, whose key signs the number and a text with the new device's name, model,
/// network and keys.
public struct DeviceApprovals: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & CeremonyStore & DeviceIdentityStore
    let hub: CeremonyHub
    let budgets: Budgets
    let letters: ChangeLetters

    /// Begins the enrolment of a new device, and returns its code.
    ///
    /// Throws ``CeremonyError``: `deviceLimited` for a device that was approved a short time ago, and `tooManyRequests`.
    /// Cost: one query and one step.
    public func begin(by approver: ApprovingDevice) async throws -> EnrolmentLink {
        try await self.limitsOfDevices.check(approver.device)
        let now = self.time.now()
        try CeremonyError.throwShortage(self.budgets.deviceApprovals.spend(approver.device.deviceID, at: now))
        let expiresAt = now + self.limits.deviceApprovalLifetime
        let codes = DispatchCodes(expiresAt: expiresAt, random: self.random, limits: self.limits)
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: .registration, accountID: approver.device.accountID, createdAt: now,
            expiresAt: expiresAt,
            detail: CeremonyDetail(
                service: self.configuration.serviceName, origin: self.configuration.issuer, approver: approver.keyName))
        try await self.store.createCeremony(
            ceremony, tokens: codes.records([.linkQRCode, .link], sealing: self.sealing),
            audit: AuditEvent(
                .deviceApprovalBegun, at: now, accountID: approver.device.accountID, ceremonyID: ceremony.id,
                actor: "device", detail: approver.device.deviceID))
        return EnrolmentLink(
            id: ceremony.id, link: try self.configuration.link(token: codes.linkToken, kind: .registration),
            qrContent: try self.configuration.link(token: codes.qrToken, kind: .registration), expiresAt: expiresAt)
    }

    /// Returns the state of an approval for the device that began it.
    ///
    /// Throws ``CeremonyError`` `notFound` for another identifier, and for an approval of another device. Cost: one query,
    /// and one more while the new device waits.
    public func state(_ id: String, for approver: ApprovingDevice) async throws -> DeviceApprovalView {
        let record = try await self.enrolment(id, of: approver)
        let state = EnrolmentView.State(record, at: self.time.now())
        var asking: DeviceApprovalView.Asking?
        if state == .pendingConfirmation, let facts = try AskingDevice(of: record) {
            asking = DeviceApprovalView.Asking(
                name: try await self.deviceName(of: record), model: facts.shownModel, network: facts.shownNetwork)
        }
        return DeviceApprovalView(id: id, state: state, asking: asking, expiresAt: record.expiresAt)
    }

    /// Makes the question by which the person approves the new device, and returns the payload for the approving device.
    ///
    /// Throws ``CeremonyError``: `notFound` as ``state(_:for:)``, `wrongState` unless the new device waits,
    /// `deviceLimited`, and `tooManyRequests`. Cost: three queries and one step.
    public func question(_ id: String, for approver: ApprovingDevice) async throws -> DeviceApprovalQuestion {
        let record = try await self.enrolment(id, of: approver)
        try await self.limitsOfDevices.check(approver.device)
        let now = self.time.now()
        guard now < record.expiresAt, let facts = try AskingDevice(of: record) else {
            throw CeremonyError(.wrongState)
        }
        try CeremonyError.throwShortage(self.budgets.codes.spend(approver.device.deviceID, at: now))
        let expiresAt = min(now + self.limits.dispatchLifetime, record.expiresAt)
        let codes = DispatchCodes(expiresAt: expiresAt, random: self.random, limits: self.limits)
        let text = try facts.text(name: try await self.deviceName(of: record))
        let question = CeremonyRecord(
            id: self.newIdentifier(), kind: .transaction, accountID: approver.device.accountID, createdAt: now,
            expiresAt: expiresAt,
            detail: CeremonyDetail(
                service: self.configuration.serviceName, origin: self.configuration.issuer,
                contentType: Transaction.ContentType.textPlain.rawValue, content: Array(text.utf8), approval: id))
        // The approving device has asked, so the token travels to the device and no further.
        try await self.store.createCeremony(
            question, tokens: codes.records([.link], sealing: self.sealing), audit: nil)
        return DeviceApprovalQuestion(
            payload: try self.configuration.payload(token: codes.linkToken, kind: .transaction).json,
            expiresAt: expiresAt)
    }

    /// Ends an enrolment at the wish of the device that began it: the pending device and its keys are deleted.
    ///
    /// Throws ``CeremonyError``: `notFound` as ``state(_:for:)``, `wrongState` for an enrolment that has ended, and
    /// `deviceLimited`. Cost: two queries and one step.
    public func cancel(_ id: String, for approver: ApprovingDevice) async throws {
        _ = try await self.enrolment(id, of: approver)
        try await Enrolments(environment: self.environment, store: self.store, hub: self.hub)
            .decline(id: id, by: approver.device)
    }

    /// Judges the number of an answer that approves the device of an enrolment. Returns the change of the enrolment, which
    /// has to be made in the step of the answer: the device is activated, and all ways of the account are told.
    ///
    /// A wrong number ends the enrolment here, and deletes the pending keys. Throws ``CeremonyError``: `wrongNumber`,
    /// `forbidden` for an answer of another device than the device that began the approval, and `wrongState` for an
    /// enrolment that has ended.
    func confirmation(
        _ id: String, by device: AuthenticatedDevice, typing answer: NumberAnswer, at now: Timestamp
    ) async throws -> (ceremonyID: String, judge: CeremonyJudge) {
        guard let record = try await self.store.ceremony(.id(id)), let approver = record.detail.approver,
            record.accountID?.hasSameBytes(as: device.accountID) == true,
            try await self.store.isKey(approver, ofDevice: device.deviceID)
        else { throw CeremonyError(.forbidden) }
        guard now < record.expiresAt, let facts = try AskingDevice(of: record) else {
            throw CeremonyError(.wrongState)
        }
        guard answer.isNumber(facts.number) else {
            try await self.refuse(id, by: device, at: now)
            throw CeremonyError(.wrongNumber)
        }
        // An operator may have removed the device since.
        guard let new = try await self.device(of: record) else { throw CeremonyError(.wrongState) }
        let letter = try await self.letters.writer(device.accountID)
        let (noticeID, changeID) = (self.newIdentifier(), self.newIdentifier())
        return (
            id,
            { record in
                var change: CeremonyChange
                do {
                    change = try self.environment.confirm(&record, isRight: true, by: "device", at: now)
                } catch is RefusedEvent {
                    // Another answer, a denial or the clock has ended the enrolment since.
                    throw CeremonyError(.wrongState)
                }
                change.deviceLimit = now + self.limits.approvedDeviceLimit
                change.audit.append(
                    AuditEvent(
                        .deviceApproved, at: now, accountID: device.accountID, ceremonyID: id, actor: "device",
                        detail: device.deviceID))
                change.notices = [
                    NoticeRecord(
                        id: noticeID, accountID: device.accountID, kind: .deviceApproved, at: now, subject: new.name)
                ]
                // The change begins with the device: the new device itself is no means from before its addition, by which
                // the addition could be disowned or reclaimed.
                let made = AccountChangeRecord(
                    id: changeID, accountID: device.accountID, addition: .approvedDevice(new.id),
                    words: "a device approved by a device", madeAt: new.createdAt, decidedAt: now)
                change.accountChange = (made, letter(made))
                return change
            }
        )
    }

    /// Ends an enrolment after a wrong number. Throws `wrongState` if the enrolment has ended: no number counts then.
    private func refuse(_ id: String, by device: AuthenticatedDevice, at now: Timestamp) async throws {
        do {
            _ = try await self.store.change(.id(id)) { record in
                try self.environment.confirm(&record, isRight: false, by: "device", at: now)
            }
        } catch is RefusedEvent {
            throw CeremonyError(.wrongState)
        }
        self.hub.wake(.ceremony(id))
    }

    private var limitsOfDevices: DeviceLimits { DeviceLimits(environment: self.environment, store: self.store) }

    /// Returns an enrolment that a device approves. Throws `notFound` for every other device.
    private func enrolment(_ id: String, of approver: ApprovingDevice) async throws -> CeremonyRecord {
        guard let record = try await self.store.ceremony(.id(id)), let name = record.detail.approver,
            name.hasSameBytes(as: approver.keyName),
            record.accountID?.hasSameBytes(as: approver.device.accountID) == true
        else { throw CeremonyError(.notFound) }
        return record
    }

    private func deviceName(of record: CeremonyRecord) async throws -> String {
        try await self.device(of: record)?.name ?? ""
    }

    private func device(of record: CeremonyRecord) async throws -> DeviceRecord? {
        try await self.store.devices(accountID: record.accountID ?? "").first { $0.id == record.deviceID }
    }
}

extension AuditEvent.Kind {
    /// A device has begun the enrolment of another device. The detail is the device that began.
    fileprivate static let deviceApprovalBegun = Self(rawValue: "device-approval-begun")
    /// A device has approved another device, whose addition is the entry before. The detail is the device that approved.
    fileprivate static let deviceApproved = Self(rawValue: "device-approved")
}
