import CTSS
import Foundation
import UAFClient
import _Primitives

/// The reason why a chip has not done a command.
enum ChipFailure: Error, Hashable {
    /// The secret of a key is wrong (TPM_RC_AUTH_FAIL and TPM_RC_BAD_AUTH).
    case wrongSecret
    /// The chip judges no secrets at present (TPM_RC_LOCKOUT), or the next wrong secret would lock the chip.
    case lockedOut
    /// The chip does not load the key: a key of another chip, or a damaged key (TPM_RC_INTEGRITY).
    case foreignKey
    /// No chip answers at the configured place.
    case absent
    /// Any other answer, with its number.
    case other(TSS2_RC)

    /// Reads the answer of tpm2-tss (TPM 2.0 Library, part 2, section 6.6). `nil` for a command that the chip has done.
    init?(_ answer: TSS2_RC) {
        // The upper half names the layer of the library that has answered: 0 is the chip, 10 the way to the chip, 12
        // a resource manager.
        switch (answer >> 16 & 0xFF, answer & 0xFFFF) {
        case (_, 0): return nil
        case (10, _): self = .absent
        case (0, let code), (12, let code):
            // Codes of format 1 say in other bits which handle, session or parameter of the command is meant.
            switch code & 0x80 == 0 ? code : code & 0xBF {
            case 0x8E, 0xA2: self = .wrongSecret
            case 0x9F: self = .foreignKey
            case 0x921: self = .lockedOut
            default: self = .other(answer)
            }
        default: self = .other(answer)
        }
    }
}

/// A conversation with a TPM 2.0 for one use of a key.
///
/// An emulated chip, and a chip without a resource manager, has three places for objects. The end of the conversation
/// takes every object and session out of the chip again, also after an error.
final class Chip {
    typealias Object = ESYS_TR

    /// The hierarchy in which the chip makes the parent of keys: the hierarchy of the machine's owner.
    private static let owner = ESYS_TR(ESYS_TR_RH_OWNER)
    private static let nobody = ESYS_TR(ESYS_TR_NONE)
    /// Authorizes an object without a secret.
    private static let noSecret = ESYS_TR(ESYS_TR_PASSWORD)

    private let context: OpaquePointer
    private var transport: OpaquePointer?
    private var inside: [Object] = []
    /// `true` once the chip was asked to use a key, and with it to judge the key's secret.
    private(set) var wasAsked = false

    /// Runs `body` in a conversation with the chip at a place. Throws ``ChipFailure``, and the errors of `body`.
    static func talking<Value>(at place: String, _ body: (Chip) throws -> Value) throws -> Value {
        let chip = try Chip(at: place)
        defer { chip.close() }
        return try body(chip)
    }

    private init(at place: String) throws {
        var transport: OpaquePointer?
        guard Tss2_TctiLdr_Initialize(place, &transport) == 0 else { throw ChipFailure.absent }
        var context: OpaquePointer?
        let answer = Esys_Initialize(&context, transport, nil)
        guard answer == 0, let context else {
            Tss2_TctiLdr_Finalize(&transport)
            throw ChipFailure(answer) ?? .absent
        }
        self.context = context
        self.transport = transport
    }

    private func close() {
        for object in self.inside.reversed() { _ = Esys_FlushContext(self.context, object) }
        var context: OpaquePointer? = self.context
        Esys_Finalize(&context)
        Tss2_TctiLdr_Finalize(&self.transport)
    }

    private func checked(_ answer: TSS2_RC) throws {
        if let failure = ChipFailure(answer) { throw failure }
    }

    /// Takes an object or a session out of the chip.
    func flush(_ object: Object) throws {
        self.inside.removeAll { $0 == object }
        try self.checked(Esys_FlushContext(self.context, object))
    }

    /// Copies a result of the library, and wipes and frees the library's memory.
    private func taking<Result>(_ result: UnsafeMutablePointer<Result>?) throws -> Result {
        guard let result else { throw ChipFailure.other(0) }
        defer {
            explicit_bzero(result, MemoryLayout<Result>.size)
            Esys_Free(result)
        }
        return result.pointee
    }
}

// MARK: - The chip's lock

extension Chip {
    /// Throws ``ChipFailure/lockedOut`` if the chip is locked, or if the next wrong secret would lock the chip.
    ///
    /// The lock would be the lock of every protected key of the machine, for example of its disk.
    func keepLastTry() throws {
        var more = TPMI_YES_NO()
        var result: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        try self.checked(
            Esys_GetCapability(
                self.context, Self.nobody, Self.nobody, Self.nobody, TPM2_CAP(6), TPMNumber.lockoutCounter, 2, &more,
                &result))
        let properties = try self.taking(result).data.tpmProperties
        let (counter, bound) = (properties.tpmProperty.0, properties.tpmProperty.1)
        guard properties.count == 2, counter.property == TPMNumber.lockoutCounter,
            bound.property == TPMNumber.lockoutCounter + 1
        else { throw ChipFailure.other(0) }
        let (failures, limit) = (counter.value, bound.value)
        guard failures < limit, failures + 1 < limit else { throw ChipFailure.lockedOut }
    }
}

// MARK: - Keys

extension Chip {
    /// Puts a primary key into the chip. A chip makes the same key of the same template each time, until the owner's
    /// hierarchy is cleared.
    func primary(_ template: TPM2B_PUBLIC) throws -> (object: Object, publicArea: TPM2B_PUBLIC) {
        var template = template
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var object = Object()
        var result: UnsafeMutablePointer<TPM2B_PUBLIC>?
        try self.checked(
            Esys_CreatePrimary(
                self.context, Self.owner, Self.noSecret, Self.nobody, Self.nobody, &sensitive, &template, &outside,
                &registers, &object, &result, nil, nil, nil))
        self.inside.append(object)
        return (object, try self.taking(result))
    }

    /// The name that the chip has computed for an object: a digest of its public area.
    func name(of object: Object) throws -> [UInt8] {
        var result: UnsafeMutablePointer<TPM2B_NAME>?
        try self.checked(Esys_TR_GetName(self.context, object, &result))
        let name = try self.taking(result)
        return withUnsafeBytes(of: name.name) { Array($0.prefix(Int(name.size))) }
    }

    /// Begins a session whose secret only the chip can read, as the chip's parent key encrypts the secret. Secrets of
    /// keys prove themselves in the session, and are never on the way to the chip.
    func session(saltedFor parent: Object) throws -> Object {
        var cipher = TPMT_SYM_DEF()
        cipher.algorithm = TPMNumber.aes
        cipher.keyBits.aes = 128
        cipher.mode.aes = TPMNumber.cfb
        var session = Object()
        try self.checked(
            Esys_StartAuthSession(
                self.context, parent, Self.nobody, Self.nobody, Self.nobody, Self.nobody, nil, TPM2_SE(0), &cipher,
                TPMNumber.sha256, &session))
        self.inside.append(session)
        return session
    }

    /// Chooses what a session encrypts from now on beside its proofs: the first parameter of a command, or of an
    /// answer. The session stays.
    private func encrypt(_ part: EncryptedPart, in session: Object) throws {
        try self.checked(Esys_TRSess_SetAttributes(self.context, session, 0x01 | part.rawValue, 0xFF))
    }

    private enum EncryptedPart: TPMA_SESSION {
        case nothing = 0x00
        case command = 0x20
        case answer = 0x40
    }

    /// Creates a key under a parent. The key does not stay in the chip.
    func create(_ template: TPM2B_PUBLIC, secret: SecretBytes, under parent: Object, in session: Object) throws
        -> (publicArea: TPM2B_PUBLIC, privateArea: TPM2B_PRIVATE)
    {
        var template = template
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { explicit_bzero(&sensitive, MemoryLayout<TPM2B_SENSITIVE_CREATE>.size) }
        secret.withBytes { sensitive.sensitive.userAuth.set($0) }
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var privateArea: UnsafeMutablePointer<TPM2B_PRIVATE>?
        var publicArea: UnsafeMutablePointer<TPM2B_PUBLIC>?
        try self.encrypt(.command, in: session)
        try self.checked(
            Esys_Create(
                self.context, parent, session, Self.nobody, Self.nobody, &sensitive, &template, &outside, &registers,
                &privateArea, &publicArea, nil, nil, nil))
        return (try self.taking(publicArea), try self.taking(privateArea))
    }

    /// Puts a key into the chip, and tells the library the secret that the key's proofs are made with.
    func load(_ publicArea: TPM2B_PUBLIC, _ privateArea: TPM2B_PRIVATE, secret: SecretBytes, under parent: Object)
        throws -> Object
    {
        var (publicArea, privateArea) = (publicArea, privateArea)
        var key = Object()
        let answer = Esys_Load(
            self.context, parent, Self.noSecret, Self.nobody, Self.nobody, &privateArea, &publicArea, &key)
        // A code of format 1 is about the parameters, and both are of the key.
        guard answer >> 16 != 0 || answer & 0x80 == 0 else { throw ChipFailure.foreignKey }
        try self.checked(answer)
        self.inside.append(key)
        var value = TPM2B_AUTH()
        defer { explicit_bzero(&value, MemoryLayout<TPM2B_AUTH>.size) }
        secret.withBytes { value.set($0) }
        try self.checked(Esys_TR_SetAuth(self.context, key, &value))
        return key
    }

    /// Signs a digest by ECDSA. Returns the two numbers of the signature, 32 bytes each.
    func sign(_ digest: [UInt8], with key: Object, in session: Object) throws -> [UInt8] {
        var value = TPM2B_DIGEST()
        digest.withUnsafeBytes { value.set($0) }
        var scheme = TPMT_SIG_SCHEME.ecdsa
        // The key is not restricted: no ticket has to say that the chip itself has hashed the message.
        var ticket = TPMT_TK_HASHCHECK()
        ticket.tag = TPMNumber.hashCheck
        ticket.hierarchy = TPMNumber.nullHierarchy
        var result: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try self.encrypt(.nothing, in: session)
        self.wasAsked = true
        try self.checked(
            Esys_Sign(
                self.context, key, session, Self.nobody, Self.nobody, &value, &scheme, &ticket, &result))
        return try self.taking(result).numbers
    }

    /// Returns the coordinate x of a point multiplied by a key (TPM2_ECDH_ZGen), 32 bytes.
    func agree(with point: [UInt8], by key: Object, in session: Object) throws -> SecretBytes {
        var value = TPM2B_ECC_POINT()
        value.point.x.set(point[1..<33])
        value.point.y.set(point[33..<65])
        var result: UnsafeMutablePointer<TPM2B_ECC_POINT>?
        try self.encrypt(.answer, in: session)
        self.wasAsked = true
        try self.checked(
            Esys_ECDH_ZGen(self.context, key, session, Self.nobody, Self.nobody, &value, &result))
        return SecretBytes(try self.taking(result).point.x.padded)
    }

    /// Returns the private area of a key under another secret. The key's former private area opens to its former
    /// secret still.
    func changeSecret(of key: Object, to secret: SecretBytes, under parent: Object, in session: Object) throws
        -> TPM2B_PRIVATE
    {
        var value = TPM2B_AUTH()
        defer { explicit_bzero(&value, MemoryLayout<TPM2B_AUTH>.size) }
        secret.withBytes { value.set($0) }
        var result: UnsafeMutablePointer<TPM2B_PRIVATE>?
        try self.encrypt(.command, in: session)
        self.wasAsked = true
        try self.checked(
            Esys_ObjectChangeAuth(
                self.context, key, parent, session, Self.nobody, Self.nobody, &value, &result))
        return try self.taking(result)
    }

    /// Has the chip state, under the signature of one of its own keys, that a key is in the chip (TPM2_Certify).
    /// Returns the statement (TPMS_ATTEST) and the signature, 64 bytes.
    func certify(_ key: Object, by attestationKey: Object, over data: [UInt8], in session: Object) throws
        -> (statement: [UInt8], signature: [UInt8])
    {
        var value = TPM2B_DATA()
        value.size = UInt16(data.count)
        withUnsafeMutableBytes(of: &value.buffer) { $0.copyBytes(from: data) }
        var scheme = TPMT_SIG_SCHEME.ecdsa
        var statement: UnsafeMutablePointer<TPM2B_ATTEST>?
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try self.encrypt(.nothing, in: session)
        self.wasAsked = true
        try self.checked(
            Esys_Certify(
                self.context, key, attestationKey, session, Self.noSecret, Self.nobody, &value, &scheme, &statement,
                &signature))
        let stated = try self.taking(statement)
        return (
            withUnsafeBytes(of: stated.attestationData) { Array($0.prefix(Int(stated.size))) },
            try self.taking(signature).numbers
        )
    }
}
