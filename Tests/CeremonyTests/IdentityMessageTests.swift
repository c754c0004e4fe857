import Ceremony
import Crypto
import JOSE
import PersonalInformation
import Testing
import UAF
import _Primitives

/// What travels between a phone and a server about a personalised identity.
@Suite struct IdentityMessageTests {
    private let random = RandomSource.system
    private let now = Timestamp(seconds: 1_800_000_000)

    private func key(_ name: String) throws -> SigningKey {
        try SigningKey(kept: try SigningKey.make(.es256, random: self.random), algorithm: .es256, keyID: name)
    }

    private func keys(_ keys: SigningKey...) -> JWKSet { JWKSet(keys.compactMap(\.publicKey)) }

    // MARK: Codes

    private func code(_ key: SigningKey) throws -> String {
        let secret = SecretBytes(self.random.bytes(32))
        return ProcessCode.text(
            signed: try ProcessCode.signed(
                kind: .activation, server: "https://id.example", id: "a-1",
                claimDigest: ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret)), expiresAt: self.now, by: key),
            secret: secret)
    }

    @Test("A code says what waits, where, and with which secret it is claimed")
    func readsCode() throws {
        let key = try self.key("1")
        let text = try self.code(key)
        let code = try ProcessCode(parsing: text, keys: self.keys(key))
        #expect(code.kind == .activation)
        #expect(code.server == "https://id.example")
        #expect(code.id == "a-1")
        #expect(code.expiresAt == self.now)
        #expect(try ProcessCode.uncheckedServer(of: text) == "https://id.example")
        #expect(!"\(code)".contains(Base64URL.encode(code.secret.withBytes { Array($0) })))
    }

    @Test("Each changed letter of a code is found out")
    func refusesChangedCode() throws {
        let key = try self.key("1")
        let letters = Array(try self.code(key).utf8)
        for index in letters.indices {
            for change: UInt8 in [0x01, 0x20] {
                var changed = letters
                changed[index] ^= change
                let text = String(decoding: changed, as: UTF8.self)
                #expect(throws: IdentityMessageError.self) { try ProcessCode(parsing: text, keys: self.keys(key)) }
            }
        }
    }

    @Test("A code that another server's key has signed is none, and neither is a token of another type")
    func refusesForeignCode() throws {
        let key = try self.key("1")
        let other = try self.key("1")
        let text = try self.code(other)
        #expect(throws: IdentityMessageError(.wrongSignature)) {
            try ProcessCode(parsing: text, keys: self.keys(key))
        }
        let token = try JWS.sign(Array("{}".utf8), type: "at+jwt", with: key)
        #expect(throws: IdentityMessageError(.malformed)) {
            try ProcessCode(parsing: token + "~" + Base64URL.encode(self.random.bytes(32)), keys: self.keys(key))
        }
    }

    // MARK: Keys

    private func keySet(_ signing: SigningKey) throws -> ManagerKeySet {
        ManagerKeySet(
            server: "https://id.example", signingKeys: self.keys(signing),
            sealingKeys: [
                ManagerKeySet.SealingKey(
                    id: "s", publicKey: Array(P256.KeyAgreement.PrivateKey().publicKey.compressedRepresentation),
                    until: self.now)
            ], versions: 1...3, pinLength: 6...12, issuedAt: self.now - .seconds(60),
            expiresAt: self.now + .seconds(60))
    }

    @Test("A set of keys is taken that the root has signed, for its server and for its time")
    func readsKeySet() throws {
        let root = try self.key("root")
        let set = try self.keySet(try self.key("1"))
        let signed = try set.signed(by: root)
        let read = try ManagerKeySet(
            verifying: signed, server: "https://id.example", roots: self.keys(root), at: self.now)
        #expect(read == set)

        #expect(throws: IdentityMessageError(.wrongReceiver)) {
            try ManagerKeySet(
                verifying: signed, server: "https://other.example", roots: self.keys(root), at: self.now)
        }
        #expect(throws: IdentityMessageError(.expired)) {
            try ManagerKeySet(
                verifying: signed, server: "https://id.example", roots: self.keys(root), at: self.now + .seconds(60))
        }
        let foreign = try self.key("root")
        #expect(throws: IdentityMessageError(.wrongSignature)) {
            try ManagerKeySet(
                verifying: signed, server: "https://id.example", roots: self.keys(foreign), at: self.now)
        }
    }

    @Test("A server that speaks other versions only is refused")
    func refusesOtherVersions() throws {
        let root = try self.key("root")
        let signing = try self.key("1")
        let set = try self.keySet(signing)
        let later = ManagerKeySet(
            server: set.server, signingKeys: set.signingKeys, sealingKeys: set.sealingKeys, versions: 2...3,
            issuedAt: set.issuedAt, expiresAt: set.expiresAt)
        let signed = try later.signed(by: root)
        #expect(throws: IdentityMessageError(.unsupported)) {
            try ManagerKeySet(verifying: signed, server: set.server, roots: self.keys(root), at: self.now)
        }
    }

    // MARK: Answers

    @Test("An answer is taken for its request alone, and each changed letter is found out")
    func readsResponse() throws {
        let key = try self.key("1")
        let request = ManagerResponse.name(ofRequest: Array("request".utf8))
        let problem = IdentityProblem(
            .lockedOut, lockout: LockoutNotice(lockedUntil: self.now), reasons: ["x"], retryAfter: 3)
        let signed = try ManagerResponse.signed(
            .refusal(problem), server: "https://id.example", request: request, at: self.now, by: key)
        let read = try ManagerResponse(
            verifying: signed, server: "https://id.example", request: request, keys: self.keys(key))
        #expect(read.now == self.now)
        guard case .refusal(let refusal) = read.content else {
            Issue.record("not a refusal")
            return
        }
        #expect(refusal == problem)

        let other = ManagerResponse.name(ofRequest: Array("another".utf8))
        #expect(throws: IdentityMessageError(.wrongReceiver)) {
            try ManagerResponse(verifying: signed, server: "https://id.example", request: other, keys: self.keys(key))
        }
        let letters = Array(signed.utf8)
        for index in letters.indices {
            var changed = letters
            changed[index] ^= 0x01
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: IdentityMessageError.self) {
                try ManagerResponse(
                    verifying: text, server: "https://id.example", request: request, keys: self.keys(key))
            }
        }
    }

    // MARK: What is sealed

    @Test("What is sealed opens with the key, and in its place alone")
    func opensInItsPlace() throws {
        let key = P256.KeyAgreement.PrivateKey()
        let to = ManagerKeySet.SealingKey(
            id: "s", publicKey: Array(key.publicKey.compressedRepresentation), until: self.now)
        let place = SealedMessage.Place.factors(session: "s-1", challenge: "c-1")
        let sealed = try SealedMessage(
            json: try SealedMessage(
                sealing: FinishRequest.Factors(response: "[]"), to: to, for: place
            ).json)
        #expect(try sealed.open(FinishRequest.Factors.self, with: key, for: place).response == "[]")

        let others: [SealedMessage.Place] = [
            .factors(session: "s-1", challenge: "c-2"), .factors(session: "s-1c", challenge: "-1"),
            .enrolment(activation: "s-1", token: "c-1"), .completion(session: "s-1"),
        ]
        for other in others {
            #expect(throws: IdentityMessageError(.notSealed)) {
                try sealed.open(FinishRequest.Factors.self, with: key, for: other)
            }
        }
        #expect(throws: IdentityMessageError(.notSealed)) {
            try sealed.open(FinishRequest.Factors.self, with: P256.KeyAgreement.PrivateKey(), for: place)
        }
    }

    @Test("What was prepared for one purpose seals nothing for another, and what it seals opens as any other")
    func prepared() throws {
        let key = P256.KeyAgreement.PrivateKey()
        let to = ManagerKeySet.SealingKey(
            id: "s", publicKey: Array(key.publicKey.compressedRepresentation), until: self.now)
        let place = SealedMessage.Place.factors(session: "s-1", challenge: "c-1")
        let sealed = try SealedMessage(
            sealing: FinishRequest.Factors(response: "[]"), by: SealedMessage.Encapsulation(to: to, for: .factors),
            for: place)
        #expect(sealed.keyID == "s")
        #expect(try sealed.open(FinishRequest.Factors.self, with: key, for: place).response == "[]")
        #expect(throws: IdentityMessageError(.notSealed)) {
            try SealedMessage(
                sealing: FinishRequest.Factors(response: "[]"),
                by: SealedMessage.Encapsulation(to: to, for: .completion), for: place)
        }
        #expect(throws: IdentityMessageError(.notSealed)) {
            try SealedMessage.Encapsulation(
                to: ManagerKeySet.SealingKey(id: "s", publicKey: [1, 2, 3], until: self.now), for: .factors)
        }
    }

    @Test("A message of factors is as long with one factor as with three")
    func hidesLength() throws {
        let few = FinishRequest.Factors(response: String(repeating: "a", count: 700)).serialized
        let many = FinishRequest.Factors(response: String(repeating: "a", count: 2800)).serialized
        #expect(few.count == many.count)
    }

    // MARK: Round trips

    @Test("What the steps of a session say is read as it was written")
    func roundTrips() throws {
        let deadlines = SessionDeadlines(nextRequestUntil: self.now, lastRequestBefore: self.now + .seconds(9))
        let document = RequestDocument(
            purpose: .userLogin, service: .init(name: "Town hall", origin: "https://town.example"),
            roles: [.init(id: "r", name: "Citizen", alternatives: [["pin", "device"]], missing: ["biometric"])],
            attributes: RequestedInformation([
                RequestedAttribute(
                    .email, isRequired: false, aliases: [.init(id: "1", alias: "Home", isPrimary: true)])
            ]),
            bounds: ValidatorBounds(
                PersonalInformationRules(birthdate: BirthdateValidator(latest: CalendarDay("2020-01-01")!))),
            deadlines: deadlines, isForLinks: true)
        #expect(try RequestDocument(parsing: document.serialized) == document)

        let prepare = PrepareRequest(
            role: "r", answers: [.email: .alias(id: "1"), .givenName: .value("Ada")], security: nil)
        let read = try PrepareRequest(parsing: prepare.serialized)
        #expect(read.answers == prepare.answers && read.role == "r")

        guard
            case .errors(let errors, let until) = try PrepareResponse(
                parsing: PrepareResponse.errors([.givenName: .dataMissing], deadlines: deadlines).serialized)
        else {
            Issue.record("no errors")
            return
        }
        #expect(errors == [.givenName: .dataMissing] && until == deadlines)

        let salt = SuppliedValueSalt(random: self.random)
        let prepared = PreparedSession(
            document: [1, 2], salts: [.gender: salt], alternatives: [["pin"]], missing: [], appID: "https://a",
            pinVersion: 3, deadlines: deadlines)
        guard
            case .lockout(let attempt) = try FinishResponse(
                parsing: FinishResponse.lockout(
                    RefusedAttempt(lockout: LockoutNotice(lockedUntil: nil), next: prepared)
                ).serialized)
        else {
            Issue.record("no lockout")
            return
        }
        #expect(attempt.lockout.isPermanent && attempt.next?.salts[.gender] == salt && attempt.next?.pinVersion == 3)
    }

    @Test("A proof of a code's PIN names its device, and is none of another's")
    func proofs() throws {
        let device = try #require(try self.key("device").publicKey?.thumbprint)
        let (claim, server) = (SecretBytes(self.random.bytes(32)), P256.KeyAgreement.PrivateKey())
        let sealed = try SealedMessage(
            sealing: ProveRequest.Proof(signature: [UInt8](repeating: 1, count: 64)),
            to: ManagerKeySet.SealingKey(
                id: "1", publicKey: Array(server.publicKey.compressedRepresentation), until: self.now),
            for: .activationProof(activation: "a", challenge: "b"))
        let request = ProveRequest(claim: claim, device: device, proof: sealed)
        let read = try ProveRequest(parsing: request.serialized)
        #expect(read.claim == claim && read.device == device && read.proof == sealed)
        for damaged in [nil, "", String(device.dropLast()), device + "A", "?"] as [String?] {
            var json = request.json
            json["device"] = damaged.map(JSON.string)
            #expect(throws: IdentityMessageError(.malformed)) { try ProveRequest(json: json) }
        }
        let signed = ProveRequest.Proof.signedBytes(activation: "a", challenge: "b", device: device)
        #expect(signed == Array("countersign activation proof/2\0a\0b\0\(device)".utf8))
    }

    @Test("A question about a PIN carries what the device says of itself, and at an activation what opens that")
    func evaluations() throws {
        let blinded = [UInt8](repeating: 3, count: PinQuestion.blindedBytes)
        let report = SecurityReport(date: self.now, checkVersion: 1, osVersion: "1", isRooted: true, isHooked: false)
        let device = try #require(try self.key("device").publicKey)
        let opening = EvaluationRequest.Opening(
            claim: SecretBytes(self.random.bytes(32)), token: SecretBytes(self.random.bytes(32)), signingKey: device)
        let whole = try EvaluationRequest(
            parsing: EvaluationRequest(blinded: blinded, opening: opening, security: report).serialized)
        #expect(whole.blinded == blinded && whole.security == report)
        #expect(whole.opening?.claim == opening.claim && whole.opening?.token == opening.token)
        #expect(whole.opening?.signingKey.thumbprint == device.thumbprint)
        let bare = try EvaluationRequest(parsing: EvaluationRequest(blinded: blinded, security: nil).serialized)
        #expect(bare.blinded == blinded && bare.opening == nil && bare.security == nil)
        let text = Base64URL.encode(blinded)
        let secret = Base64URL.encode(self.random.bytes(32))
        let other = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        for body in [
            #"{"blinded":"\#(text)","claim":"\#(secret)","token":"\#(secret)"}"#,
            #"{"blinded":"\#(text)","claim":"\#(secret)","token":"\#(secret)","signingKey":\#(other)}"#,
            #"{"blinded":"\#(text)","claim":"\#(secret)"}"#, #"{"blinded":"\#(text)","token":"\#(secret)"}"#,
            #"{"blinded":"\#(text)","claim":"\#(secret)","token":"AAAA"}"#, #"{"blinded":"AAAA"}"#, "{}",
            #"{"blinded":"\#(text)","security":1}"#,
        ] {
            #expect(throws: IdentityMessageError(.malformed)) { try EvaluationRequest(parsing: Array(body.utf8)) }
        }
    }

    @Test("A factor in the place of another names its key, and one that is added names none")
    func replacedFactors() throws {
        let key = try KeyID([UInt8](repeating: 7, count: 32))
        let access = try AccessRequest(
            parsing: AccessRequest(purpose: .addFactor, replaces: key).serialized)
        #expect(access.purpose == .addFactor && access.replaces == key)
        for replaced in [key, nil] {
            guard
                case .addFactor("r", let replaces) = try Completion(
                    parsing: Completion.addFactor(response: "r", replaces: replaced).serialized)
            else {
                Issue.record("another completion")
                return
            }
            #expect(replaces == replaced)
            let record = ActivationReceipt(
                activation: "a", name: "Phone", factors: ["device", "biometric"], biometricKey: replaced, pinVersion: 1,
                createdAt: self.now)
            #expect(try ActivationReceipt(parsing: record.serialized) == record)
        }
        // As apps of before write it.
        #expect(try AccessRequest(parsing: Array(#"{"version":1,"purpose":"addFactor"}"#.utf8)).replaces == nil)
        for name in ["AAAA", "!", String(repeating: "A", count: 3000)] {
            #expect(throws: IdentityMessageError(.malformed)) {
                try AccessRequest(
                    parsing: Array(#"{"version":1,"purpose":"addFactor","replaces":"\#(name)"}"#.utf8))
            }
        }
    }

    @Test(
        "What is not a message is refused",
        arguments: [
            "", "[]", "{}", #"{"version":1,"version":1,"claim":""}"#, #"{"version":1,"claim":"AA"}"#,
            #"{"version":"1","claim":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
        ])
    func refusesMalformed(text: String) {
        #expect(throws: IdentityMessageError(.malformed)) { try StartRequest(parsing: Array(text.utf8)) }
    }
}
