import Crypto
import UAF
import _Primitives

extension Damage {
    /// Applies the damage to a right draft.
    func apply(to draft: inout AssertionDraft) throws {
        try self.damageMessage(&draft)
        try self.damageAssertion(&draft)
        try self.damageModel(&draft)
        try self.damageCertificates(&draft)
        try self.damageSignature(&draft)
    }

    private func damageMessage(_ draft: inout AssertionDraft) throws {
        switch self {
        case .noDictionary: draft.wrap = { _ in [] }
        case .twoDictionaries: draft.wrap = { [$0, $0] }
        case .otherOperation:
            draft.header.operation = draft.scenario.operation == .registration ? .authentication : .registration
        case .otherVersion: draft.header.version = Version(major: 2, minor: 1)
        case .noHeader: draft.changeDictionary = { $0["header"] = nil }
        case .noParameters: draft.changeDictionary = { $0["fcParams"] = nil }
        case .noAssertionsMember: draft.changeDictionary = { $0["assertions"] = nil }
        case .noScheme: draft.changeDictionary = Self.changeAssertion { $0["assertionScheme"] = nil }
        case .paddedAssertion:
            // If base64 would not pad the bytes, the assertion gets a further tag, which readers skip. Then the text
            // has padding.
            draft.changeBytes = { bytes in
                guard bytes.count.isMultiple(of: 3) else { return }
                bytes += [0x01, 0x0F, 0, 0]
                bytes.replaceSubrange(2..<4, with: AssertionDraft.littleEndian(UInt16(bytes.count - 4)))
            }
            draft.changeDictionary = Self.changeAssertion { assertion in
                let text = try assertion.requiredString("assertion")
                assertion["assertion"] = .string(text + String(repeating: "=", count: 4 - text.utf8.count % 4))
            }
        case .nullMember:
            draft.changeText = { $0.replacing("\"upv\":", with: "\"exts\":null,\"upv\":", maxReplacements: 1) }
        case .noAssertion: draft.changeDictionary = { $0["assertions"] = .array([]) }
        case .unknownMessageExtension:
            draft.header.extensions = [Extension(id: "com.example.unknown", data: "", failIfUnknown: true)]
        case .foreignServerData: draft.header.serverData = draft.random.token(byteCount: 24)
        case .lostServerData: draft.header.serverData = nil
        case .unreadableParameters: draft.parametersText = "{}"
        case .otherAppID:
            draft.parameters.appID = "https://other.example.com/uaf/facets"
            draft.header.appID = draft.parameters.appID
        case .malformedOrigin: draft.parameters.facetID = try FacetID(AssertionDraft.facet + "?facet")
        case .untrustedFacet: draft.parameters.facetID = try FacetID("https://stranger.example")
        case .otherChannel:
            draft.serverEndPoints = [draft.random.token()]
            draft.parameters.channelBinding = ChannelBinding(serverEndPoint: draft.random.token())
        case .otherChallenge: draft.parameters.challenge = Challenge(random: draft.random)
        case .otherScheme: draft.scheme = AssertionScheme(rawValue: "OTHERV1TLV")
        case .otherHash: draft.finalChallengeHash = draft.random.bytes(32)
        case .hashOfDecoded:
            let decoded = Base64URL.decode(draft.parameters.encoded) ?? []
            draft.finalChallengeHash = FinalChallengeParams.hash(ofEncoded: String(decoding: decoded, as: UTF8.self))
        default: break
        }
    }

    /// Returns a change of a response's single assertion.
    private static func changeAssertion(_ change: @escaping (inout JSONObject) throws -> Void) -> (
        inout JSONObject
    ) throws -> Void {
        { dictionary in
            guard case .object(var assertion)? = try dictionary.array("assertions")?.first else { return }
            try change(&assertion)
            dictionary["assertions"] = .array([.object(assertion)])
        }
    }

    private func damageAssertion(_ draft: inout AssertionDraft) throws {
        let keyID = draft.keyID.bytes
        switch self {
        case .truncatedAssertion: draft.changeBytes = { $0.removeLast() }
        case .trailingByte: draft.changeBytes = { $0.append(0) }
        case .swappedAssertion:
            draft.rootTag =
                draft.rootTag == .registrationAssertion ? .authenticationAssertion : .registrationAssertion
        case .duplicateTag: draft.changeSigned = { $0.append(TLVItem(.keyID, keyID)) }
        case .missingTag: draft.changeSigned = { $0.removeAll { $0.tag == .keyID } }
        case .longCounters:
            draft.changeSigned = { items in
                for index in items.indices where items[index].tag == .counters {
                    items[index].value += [UInt8](repeating: 0, count: items[index].value.count)
                }
            }
        case .unknownCriticalTag:
            draft.changeSigned = { $0.append(TLVItem(TLVTag(rawValue: 0x2EEE), [1, 2, 3])) }
        case .shortNonce: draft.nonceLength = 7
        case .signatureFirst: draft.changeItems = { $0.reverse() }
        case .unknownSignedExtension: draft.changeSigned = { $0.append(try Self.unknownExtension()) }
        case .unknownUnsignedExtension: draft.changeItems = { $0.append(try Self.unknownExtension()) }
        case .unknownMode: draft.mode = AuthenticationMode(rawValue: 3)
        case .transactionMode: draft.mode = .transactionConfirmed
        case .noTransactionHash: draft.contentHash = []
        case .otherTransaction: draft.contentHash = draft.random.bytes(32)
        case .notConfirmed:
            draft.mode = .userVerified
            draft.contentHash = []
        case .withoutDisplay:
            draft.metadata[0]["tcDisplay"] = .integer(0)
            draft.metadata[0]["tcDisplayContentType"] = nil
        case .unexpectedTransaction:
            draft.mode = .transactionConfirmed
            draft.contentHash = draft.random.bytes(32)
        case .hashWithoutConfirmation: draft.contentHash = draft.random.bytes(32)
        case .replayed: draft.signCounter = 7
        case .lowerCounter: draft.signCounter = 6
        case .zeroCounter: draft.signCounter = 0
        default: break
        }
    }

    private static func unknownExtension() throws -> TLVItem {
        try TLVItem(AssertionExtension(id: "com.example.unknown", data: [1], isCritical: true))
    }

    private func damageModel(_ draft: inout AssertionDraft) throws {
        let other = try AAID(AssertionDraft.otherAAID)
        func allow(_ aaid: [AAID]) {
            draft.policy.accepted = draft.policy.accepted.map { alternative in
                alternative.map { MatchCriteria(aaid: aaid, keyIDs: $0.keyIDs) }
            }
        }
        switch self {
        case .unknownAAID: draft.metadata = []
        case .revokedAAID: draft.revoked = [draft.aaid]
        case .outdated: draft.metadata[0]["authenticatorVersion"] = .integer(2)
        case .outsidePolicy:
            allow([other])
            draft.metadata.append(
                AssertionDraft.statement(
                    other, algorithm: .p256Raw, format: .eccX962Raw, attestations: [.basicSurrogate], roots: []))
        case .disallowed: draft.policy.disallowed = [MatchCriteria(aaid: [draft.aaid])]
        case .unreadableBan:
            var ban = MatchCriteria(aaid: [other])
            ban.extensions = [Extension(id: "com.example.unknown", data: "", failIfUnknown: true)]
            draft.policy.disallowed = [ban]
        case .bannedVersion:
            draft.authenticatorVersion = 2
            var ban = MatchCriteria(aaid: [draft.aaid])
            ban.authenticatorVersion = 2
            draft.policy.disallowed = [ban]
        case .silentAlone:
            func method(_ number: Int64) -> JSON { .object(["userVerification": .integer(number)]) }
            draft.metadata[0]["userVerificationDetails"] = .array([
                .array([method(2), method(4)]), .array([method(0x200)]),
            ])
        case .revokedKey:
            draft.revocations = ["keys": .array([Self.digest(of: try draft.keyPair.subjectPublicKeyInfo)])]
        case .existingKey: draft.registered = [draft.registeredKey(account: "bob")]
        case .unknownKey: draft.registered = []
        case .foreignKey: draft.registered = [draft.registeredKey(account: "bob")]
        case .otherAlgorithm: draft.algorithm = draft.algorithm.sibling
        case .otherKeyFormat:
            draft.format =
                switch draft.format {
                case .eccX962Raw: .eccX962DER
                case .eccX962DER: .eccX962Raw
                case .rsa2048Raw: .rsa2048DER
                default: .rsa2048Raw
                }
        case .keyOffCurve: draft.publicKey[draft.publicKey.count - 1] ^= 1
        case .keyAtInfinity: draft.publicKey = [0]
        case .longModulus:
            draft.signer = try TestKeyPair(rsa: .large)
            draft.publicKey = try draft.signer.publicKey(draft.scenario.encoding)
        // 65538: even, but not small.
        case .evenExponent: draft.publicKey[draft.publicKey.count - 1] = 2
        case .smallExponent:
            draft.signer = try TestKeyPair(rsa: .smallExponent)
            draft.publicKey = try draft.signer.publicKey(draft.scenario.encoding)
        default: break
        }
    }

    /// Returns the SHA-256 in hexadecimal.
    private static func digest(of bytes: [UInt8]) -> JSON {
        .string(SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }

    private func damageCertificates(_ draft: inout AssertionDraft) throws {
        switch self {
        case .ecdaa:
            draft.attestation = .ecdaa
            draft.metadata[0]["attestationTypes"] = .array([.integer(0x3E09)])
        case .otherAttestation: draft.metadata[0]["attestationTypes"] = .array([.integer(0x3E07)])
        case .notPreferredAttestation:
            draft.metadata[0]["attestationTypes"] = .array([.integer(0x3E07), .integer(0x3E08)])
            var criteria = MatchCriteria()
            criteria.authenticationAlgorithms = [draft.algorithm]
            criteria.assertionSchemes = [.uafV1TLV]
            criteria.attestationTypes = [.basicFull, .basicSurrogate]
            draft.policy.accepted = [[criteria]]
        case .surrogateWithRoots:
            draft.metadata[0] = AssertionDraft.statement(
                draft.aaid, algorithm: draft.algorithm, format: draft.format, attestations: [.basicSurrogate],
                roots: [draft.certificates.root])
        case .fullWithoutRoots: draft.metadata[0]["attestationRootCertificates"] = .array([])
        case .otherRoot:
            let other = try TestCertificates(rsa: false, aaid: draft.aaid, random: draft.random)
            draft.metadata[0] = AssertionDraft.statement(
                draft.aaid, algorithm: draft.algorithm, format: draft.format, attestations: [.basicFull],
                roots: [other.root])
        case .missingIntermediate: draft.chain.removeLast()
        case .reversedChain: draft.chain.reverse()
        case .brokenCertificate: draft.chain[0].removeLast()
        case .fullSignedByNewKey: draft.signer = draft.keyPair
        case .expiredLeaf: try self.makeChain(&draft, .expiredLeaf)
        case .futureLeaf: try self.makeChain(&draft, .futureLeaf)
        case .otherModelsCertificate: try self.makeChain(&draft, .otherModel)
        case .intermediateIsNoAuthority: try self.makeChain(&draft, .intermediateIsNoAuthority)
        case .forgedLeaf: try self.makeChain(&draft, .forgedLeaf)
        case .issuingLeaf: try self.makeChain(&draft, .issuingLeaf)
        case .nameConstraints: try self.makeChain(&draft, .nameConstraints)
        case .longSerialNumber: try self.makeChain(&draft, .longSerialNumber)
        case .twoSignatureAlgorithms: try self.makeChain(&draft, .twoSignatureAlgorithms)
        case .sharedAuthority, .sharedRoot:
            try self.makeChain(&draft, .noModel)
            draft.metadata.append(
                AssertionDraft.statement(
                    try AAID(AssertionDraft.otherAAID), algorithm: .p256Raw, format: .eccX962Raw,
                    attestations: [.basicFull],
                    roots: [self == .sharedRoot ? draft.certificates.reissuedRoot : draft.chain[1]]))
        case .surplusCertificate:
            draft.metadata[0] = AssertionDraft.statement(
                draft.aaid, algorithm: draft.algorithm, format: draft.format, attestations: [.basicFull],
                roots: [draft.chain[0]])
        case .revokedCertificate:
            draft.revocations = [
                "certificates": .array([
                    .object(["aaid": .string(draft.aaid.text), "serialNumber": .string("02")])
                ])
            ]
        case .revokedAttestationKey:
            draft.revocations = [
                "keys": .array([Self.digest(of: try draft.certificates.leafKey.subjectPublicKeyInfo)])
            ]
        default: break
        }
    }

    private func makeChain(_ draft: inout AssertionDraft, _ flaw: TestCertificates.Flaw) throws {
        draft.certificates = try TestCertificates(
            rsa: draft.keyPair.isRSA, aaid: draft.aaid, random: draft.random, flaw: flaw)
        draft.chain = draft.certificates.chain
        draft.signer = draft.certificates.leafKey
        draft.metadata[0] = AssertionDraft.statement(
            draft.aaid, algorithm: draft.algorithm, format: draft.format, attestations: [.basicFull],
            roots: [draft.certificates.root])
    }

    private func damageSignature(_ draft: inout AssertionDraft) throws {
        switch self {
        case .brokenAttestation, .brokenSignature: draft.changeSignature = { $0[$0.count - 1] ^= 1 }
        case .attestedByOtherKey, .signedByOtherKey:
            draft.signer =
                draft.keyPair.isRSA ? try TestKeyPair(rsa: .second) : try TestKeyPair(p256: draft.random)
        case .changedAfterSigning:
            draft.changeItems = { items in
                // The change hits the nonce's first byte, which no other rule checks.
                guard let index = items[0].value.firstRange(of: [0x0F, 0x2E])?.lowerBound else { return }
                items[0].value[index + 4] ^= 1
            }
        case .shortSignature: draft.changeSignature = { $0.removeLast() }
        case .longSignature: draft.changeSignature = { $0.append(0) }
        case .longForm:
            // The length gets one byte more: for a SEQUENCE below 128 bytes, or for an OCTET STRING of 256 bytes.
            draft.changeSignature = { signature in
                let isSequence = signature[0] == 0x30
                signature =
                    isSequence
                    ? [0x30, 0x81] + signature.dropFirst() : [0x04, 0x83, 0x00] + signature.dropFirst(2)
            }
        case .otherEncoding:
            let (signer, sibling) = (draft.signer, draft.algorithm.sibling)
            draft.signsAs = { try signer.sign($0, sibling) }
        default: break
        }
    }
}

extension SignatureAlgorithm {
    /// The algorithm of the same key with the other encoding of signatures.
    var sibling: SignatureAlgorithm {
        switch self {
        case .p256Raw: .p256DER
        case .p256DER: .p256Raw
        case .rsaPSSRaw: .rsaPSSDER
        case .rsaPSSDER: .rsaPSSRaw
        case .rsaPKCS1Raw: .rsaPKCS1DER
        default: .rsaPKCS1Raw
        }
    }
}
