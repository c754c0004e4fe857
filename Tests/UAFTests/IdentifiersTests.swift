import Testing
import UAF
import _Primitives

@Suite("uaf-sections §1: identifiers and their limits")
struct IdentifiersTests {
    @Test("An AAID has one canonical spelling whatever the case it came in")
    func canonicalAAID() throws {
        #expect(try AAID("abcd#0f1e") == AAID("ABCD#0F1E"))
        #expect(try AAID("abcd#0f1e").text == "ABCD#0F1E")
        #expect(try AAID("C516#0001").vendorID == "C516")
        #expect(try AAID(ascii: Array("c516#00aF".utf8)).description == "C516#00AF")
    }

    @Test(
        "What is not HHHH#HHHH is no AAID",
        arguments: [
            "", "C516#000", "C516#00011", "C516-0001", "C51G#0001", "#C5160001", "C516##001", "C516#000 ", "Ｃ516#001",
        ])
    func wrongAAID(text: String) {
        #expect(throws: UAFError(.invalidValue)) { try AAID(text) }
    }

    @Test(
        "A KeyID has 32 to 2048 bytes", arguments: [(31, false), (32, true), (2048, true), (2049, false), (0, false)])
    func keyIDLength(count: Int, isGood: Bool) throws {
        if isGood {
            let keyID = try KeyID(bytes(count))
            #expect(try KeyID(base64URL: keyID.base64URL) == keyID)
        } else {
            #expect(throws: UAFError(.outOfRange)) { try KeyID(bytes(count)) }
        }
    }

    @Test("A KeyID's text is base64url without padding")
    func keyIDText() {
        #expect(throws: UAFError(.invalidBase64URL)) { try KeyID(base64URL: Parts.keyID + "=") }
        #expect(throws: UAFError(.invalidBase64URL)) { try KeyID(base64URL: "+" + Parts.keyID.dropFirst()) }
    }

    @Test(
        "A facetID has 1 to 512 characters, not bytes", arguments: [(0, false), (1, true), (512, true), (513, false)])
    func facetIDLength(count: Int, isGood: Bool) {
        let text = String(repeating: "é", count: count)
        #expect(((try? FacetID(text)) != nil) == isGood)
    }

    @Test("A challenge is base64url of 8 to 64 bytes", arguments: [(7, false), (8, true), (64, true), (65, false)])
    func challengeLength(count: Int, isGood: Bool) throws {
        let text = Base64URL.encode(bytes(count))
        if isGood {
            #expect(try Challenge(text).bytes == bytes(count))
        } else {
            #expect(throws: UAFError(.outOfRange)) { try Challenge(text) }
        }
    }

    @Test("A challenge with padding or of the other alphabet is refused")
    func challengeText() {
        #expect(throws: UAFError(.invalidBase64URL)) { try Challenge("AAAAAAAAAAA=") }
        #expect(throws: UAFError(.invalidBase64URL)) { try Challenge("AAAA/AAAAAA") }
    }

    @Test("A new challenge has 32 bytes of the random source")
    func newChallenge() {
        let challenge = Challenge(random: RandomSource { bytes($0, 9) })
        #expect(challenge.bytes == bytes(32, 9))
    }

    @Test("Challenges match by their text")
    func matchingChallenges() throws {
        let one = try Challenge(Parts.challenge)
        #expect(one.matches(try Challenge(Parts.challenge)))
        #expect(!one.matches(try Challenge(Base64URL.encode(bytes(32, 3)))))
    }

    @Test("Versions compare by major first")
    func versions() {
        #expect(Version(major: 1, minor: 9) < Version(major: 2, minor: 0))
        #expect(Version(major: 1, minor: 0) < .uaf11)
        #expect(!(Version.uaf11 < .uaf11))
        #expect(Version.uaf11.description == "1.1")
    }

    @Test("Errors are equal by their code and describe the place")
    func errors() {
        #expect(UAFError(.outOfRange, "a") == UAFError(.outOfRange, "b"))
        #expect(UAFError(.outOfRange) != UAFError(.wrongType))
        #expect(UAFError(.outOfRange, "header.appID").description == "UAFError.outOfRange: header.appID")
        #expect(Set([UAFError(.outOfRange, "a"), UAFError(.outOfRange, "b")]).count == 1)
    }
}
