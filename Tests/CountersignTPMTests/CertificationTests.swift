import CountersignTPM
import Crypto
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 131: certifications by a TPM (TPM 2.0 Library, part 3, TPM2_Certify)")
struct CertificationTests {
    private let chip: EmulatedChip
    private let keys: TPMKeys

    init() throws {
        self.chip = try EmulatedChip()
        self.keys = try self.chip.keys()
    }

    private func certification(_ key: NewDeviceKey, _ name: DeviceKeyName = Sample.name()) async throws
        -> TPMCertification
    {
        try await self.keys.certify(Sample.message, with: key.handle, of: name, unlocking: .secret(Sample.pin))
    }

    @Test("The chip certifies a key under a secret, and only for the secret") func certified() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        #expect(try await self.certification(key).isOf(key.publicKey, over: Sample.message))
        await #expect(throws: DeviceKeyError.wrongSecret) {
            try await self.keys.certify(
                Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.wrongPin))
        }
        await #expect(throws: DeviceKeyError.closed) {
            try await self.keys.certify(Sample.message, with: key.handle, of: Sample.name(), unlocking: .none)
        }
    }

    @Test("A certification is of its key, its message and its statement alone") func changed() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let other = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let (first, second) = (try await self.certification(key), try await self.certification(other))
        #expect(!first.isOf(other.publicKey, over: Sample.message))
        #expect(!first.isOf(key.publicKey, over: [1]))
        #expect(!first.isOf([], over: Sample.message))
        func certification(
            _ statement: [UInt8], _ signature: [UInt8], _ attestationKey: [UInt8], _ area: [UInt8]
        ) -> Bool {
            TPMCertification(
                statement: statement, signature: signature, attestationKey: attestationKey, publicArea: area
            ).isOf(key.publicKey, over: Sample.message)
        }
        #expect(certification(first.statement, first.signature, first.attestationKey, first.publicArea))
        #expect(!certification(second.statement, first.signature, first.attestationKey, first.publicArea))
        #expect(!certification(second.statement, second.signature, first.attestationKey, first.publicArea))
        #expect(!certification(first.statement, second.signature, first.attestationKey, first.publicArea))
        #expect(!certification(first.statement, first.signature, key.publicKey, first.publicArea))
        #expect(!certification(first.statement, first.signature, first.attestationKey, second.publicArea))
        #expect(!certification(first.statement, first.signature, first.attestationKey, []))
        for place in first.publicArea.indices {
            var area = first.publicArea
            area[place] ^= 1
            #expect(!certification(first.statement, first.signature, first.attestationKey, area))
        }
    }

    @Test("An imitated statement shows by its certifying key alone, and other bytes than a chip's are refused")
    func imitated() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let real = try await self.certification(key)
        // The SDK's own key signs anything: it can sign a copy of a chip's statement. The copy differs in the key alone,
        // which the caller has to know from elsewhere.
        let software = P256.Signing.PrivateKey()
        func imitation(_ statement: [UInt8]) throws -> TPMCertification {
            TPMCertification(
                statement: statement, signature: Array(try software.signature(for: statement).rawRepresentation),
                attestationKey: Array(software.publicKey.x963Representation), publicArea: real.publicArea)
        }
        let copy = try imitation(real.statement)
        #expect(copy.isOf(key.publicKey, over: Sample.message) && copy.attestationKey != real.attestationKey)
        for place in [0, 3, 4, 5] {
            var statement = real.statement
            statement[place] ^= 1
            #expect(try !imitation(statement).isOf(key.publicKey, over: Sample.message), "byte \(place)")
        }
        #expect(try !imitation(real.statement + [0]).isOf(key.publicKey, over: Sample.message))
        #expect(try !imitation([]).isOf(key.publicKey, over: Sample.message))
    }

    @Test("A key for agreements is certified for nobody as a key that signs") func agreement() async throws {
        let key = try self.keys.makeAgreementKey(Sample.name())
        await #expect(throws: DeviceKeyError.closed) {
            try await self.keys.certify(Sample.message, with: key.handle, of: Sample.name(), unlocking: .none)
        }
    }

    @Test("One service sees one certifying key, also after a restart, and another service another one")
    func pairwise() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let sibling = try self.keys.make(Sample.name(2), owner: "bob", lock: .secret(Sample.pin))
        let stranger = try self.keys.make(Sample.name(token: 8), owner: "alice", lock: .secret(Sample.pin))
        let first = try await self.certification(key).attestationKey
        #expect(try await self.certification(sibling, Sample.name(2)).attestationKey == first)
        #expect(try await self.certification(stranger, Sample.name(token: 8)).attestationKey != first)
        try self.chip.stop()
        try self.chip.start()
        #expect(try await self.certification(key).attestationKey == first)
    }

    @Test("No attestation of UAF is made of a certification: the new key attests itself, or nothing does")
    func attestation() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let attestation = try await self.keys.attest(
            Sample.message, as: .basicSurrogate, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        #expect(attestation.certificates.isEmpty && key.hasSigned(Sample.message, attestation.signature))
        await #expect(throws: DeviceKeyError.unattested) {
            try await self.keys.attest(
                Sample.message, as: .basicFull, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        }
    }
}
