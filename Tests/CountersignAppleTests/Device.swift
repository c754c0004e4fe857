import Countersign
import CountersignApple
import Crypto
import Foundation
import UAF
import UAFClient
import _Primitives

/// An approval that names the person's act.
struct ScriptedApproval: PersonApproval {
    let demand: PersonDemand
}

/// A Keychain in memory with the rules of Apple's: items of a passcode go with the passcode, items of a set with the set.
// Safe to share: every access to the state is within `lock`.
final class MemoryKeychain: Keychain, @unchecked Sendable {
    private struct Entry {
        var value: [UInt8]
        let protection: ItemProtection
    }

    private let lock = NSLock()
    private var entries: [KeychainItem: Entry] = [:]
    private var scripted: [KeychainStatus] = []

    /// The number of items.
    var count: Int { self.lock.withLock { self.entries.count } }

    /// Answers the next calls with these numbers.
    func answer(_ statuses: KeychainStatus...) { self.lock.withLock { self.scripted = statuses } }

    /// Removes the device's passcode.
    func removePasscode() {
        self.lock.withLock { self.entries = self.entries.filter { $0.value.protection == .afterFirstUnlock } }
    }

    /// Enrols another finger.
    func changeSet() {
        self.lock.withLock { self.entries = self.entries.filter { $0.value.protection != .biometrics(.currentSet) } }
    }

    func value(of item: KeychainItem, approvedBy approval: (any PersonApproval)?) -> KeychainAnswer {
        self.lock.withLock {
            if !self.scripted.isEmpty { return .refused(self.scripted.removeFirst()) }
            guard let entry = self.entries[item] else { return .refused(.itemNotFound) }
            if case .biometrics = entry.protection, approval == nil { return .refused(.interactionNotAllowed) }
            return .value(entry.value)
        }
    }

    func update(_ value: [UInt8], of item: KeychainItem) -> KeychainStatus {
        self.lock.withLock {
            if !self.scripted.isEmpty { return self.scripted.removeFirst() }
            guard self.entries[item] != nil else { return .itemNotFound }
            self.entries[item]?.value = value
            return .success
        }
    }

    func add(_ value: [UInt8], as item: KeychainItem, _ protection: ItemProtection) -> KeychainStatus {
        self.lock.withLock {
            if !self.scripted.isEmpty { return self.scripted.removeFirst() }
            guard self.entries[item] == nil else { return .duplicateItem }
            self.entries[item] = Entry(value: value, protection: protection)
            return .success
        }
    }

    func remove(_ item: KeychainItem) -> KeychainStatus {
        self.lock.withLock {
            if !self.scripted.isEmpty { return self.scripted.removeFirst() }
            return self.entries.removeValue(forKey: item) == nil ? .itemNotFound : .success
        }
    }
}

/// A person in front of a device of Apple.
// Safe to share: every access to the state is within `lock`.
final class ScriptedPerson: PersonCheck, @unchecked Sendable {
    private let lock = NSLock()
    private var state = BiometricState(set: [1], refusal: nil)
    private var passcode: SystemRefusal?
    private var refusals: [SystemRefusal] = []
    private var seen: [(demand: PersonDemand, prompt: SystemPrompt)] = []

    /// The questions so far.
    var questions: [(demand: PersonDemand, prompt: SystemPrompt)] { self.lock.withLock { self.seen } }

    func enrol(_ set: [UInt8]?, refusal: Int? = nil) {
        self.lock.withLock {
            self.state = BiometricState(set: set, refusal: refusal.map { SystemRefusal(.localAuthentication, $0) })
        }
    }

    func removePasscode() { self.lock.withLock { self.passcode = SystemRefusal(.localAuthentication, -5) } }

    func refusePasscode(_ code: Int) {
        self.lock.withLock { self.passcode = SystemRefusal(.localAuthentication, code) }
    }

    /// Answers the next questions with these numbers of `LAError`; afterwards the person agrees.
    func refuse(_ codes: Int...) {
        self.lock.withLock { self.refusals = codes.map { SystemRefusal(.localAuthentication, $0) } }
    }

    func biometrics() -> BiometricState { self.lock.withLock { self.state } }
    func passcodeRefusal() -> SystemRefusal? { self.lock.withLock { self.passcode } }

    func ask(_ demand: PersonDemand, _ prompt: SystemPrompt) async throws -> any PersonApproval {
        try self.lock.withLock {
            self.seen.append((demand, prompt))
            if !self.refusals.isEmpty { throw self.refusals.removeFirst() }
        }
        return ScriptedApproval(demand: demand)
    }
}

/// A Secure Enclave in memory: a blob opens in this chip alone, and a signature needs the approval that the key demands.
// Safe to share: every access to the state is within `lock`.
final class MemoryChip: EnclaveChip, @unchecked Sendable {
    private let lock = NSLock()
    private let secret = SymmetricKey(size: .bits256)
    private var refusal: SystemRefusal?
    private var made: [KeyAccess] = []

    /// The conditions of the keys so far.
    var accesses: [KeyAccess] { self.lock.withLock { self.made } }

    /// Refuses every call; `nil` ends the refusals.
    func refuse(_ refusal: SystemRefusal?) { self.lock.withLock { self.refusal = refusal } }

    func makeSigningKey(_ access: KeyAccess) throws -> EnclaveKey {
        try self.check()
        self.lock.withLock { self.made.append(access) }
        let key = P256.Signing.PrivateKey()
        return EnclaveKey(
            blob: try self.wrapped([access.demand.rawValue] + Array(key.rawRepresentation)),
            publicKey: Array(key.publicKey.x963Representation))
    }

    func makeAgreementKey() throws -> EnclaveKey {
        try self.check()
        let key = P256.KeyAgreement.PrivateKey()
        return EnclaveKey(
            blob: try self.wrapped([0] + Array(key.rawRepresentation)),
            publicKey: Array(key.publicKey.x963Representation))
    }

    func sign(_ message: [UInt8], by blob: [UInt8], approvedBy approval: (any PersonApproval)?) throws -> [UInt8] {
        try self.check()
        let opened = try self.opened(blob)
        let demand = (approval as? ScriptedApproval)?.demand ?? .nobody
        guard opened[0] == demand.rawValue else { throw SystemRefusal(.security, -25_293) }
        let key = try P256.Signing.PrivateKey(rawRepresentation: opened[1...])
        return Array(try key.signature(for: message).rawRepresentation)
    }

    func agree(with point: [UInt8], by blob: [UInt8]) throws -> [UInt8] {
        try self.check()
        let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: try self.opened(blob)[1...])
        guard let other = try? P256.KeyAgreement.PublicKey(x963Representation: point) else {
            throw SystemRefusal(.token, -8)
        }
        return try key.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) }
    }

    private func check() throws {
        if let refusal = self.lock.withLock({ self.refusal }) { throw refusal }
    }

    private func wrapped(_ key: [UInt8]) throws -> [UInt8] {
        let box = try AES.GCM.seal(key, using: self.secret)
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    private func opened(_ blob: [UInt8]) throws -> [UInt8] {
        guard let box = try? AES.GCM.SealedBox(combined: blob), let key = try? AES.GCM.open(box, using: self.secret)
        else { throw SystemRefusal(.token, -3) }
        return Array(key)
    }
}
