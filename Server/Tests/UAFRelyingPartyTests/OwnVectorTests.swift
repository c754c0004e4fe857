import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// A file of `Tests/Vectors`.
private struct VectorFile: CustomTestStringConvertible, Sendable {
    let name: String
    let vector: TestVector

    var testDescription: String { "\(self.name): \(self.vector.status)" }

    static let all: [VectorFile] = {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().appendingPathComponent("../../../Tests/Vectors").standardized
        return ["own", "python"].flatMap { folder in
            let path = root.appendingPathComponent(folder)
            let files = (try? FileManager.default.contentsOfDirectory(atPath: path.path)) ?? []
            return files.sorted().compactMap { file in
                (try? Data(contentsOf: path.appendingPathComponent(file))).flatMap { try? TestVector(parsing: $0) }
                    .map { VectorFile(name: "\(folder)/\($0.id)", vector: $0) }
            }
        }
    }()
}

extension TestVector {
    /// What our server makes of the response. Throws ``UAFRefusal``, and `UAFError` where the vector itself is wrong.
    fileprivate func judge() throws {
        var configuration = RelyingPartyConfiguration(
            metadata: MetadataCatalog(
                try self.metadata.map { try MetadataStatement(parsing: JSON.object($0).serialized) },
                revoked: Set(self.revoked)),
            trustedFacets: Set(try self.trustedFacets.map { try FacetID($0) }))
        if let revocations {
            configuration.metadata.revoke(try RevocationList(parsing: JSON.object(revocations).serialized))
        }
        if let serverEndPoints {
            configuration.channelBinding = .required(
                .init(serverEndPoints: Set(serverEndPoints), tlsServerCertificates: []))
        }
        let request = JSON.array([.object(self.request)]).serialized
        if self.operation == .registration {
            let response = try UnverifiedRegistration(parsing: self.response.utf8)
            _ = try RegistrationVerifier(configuration).verify(
                response, expected: ExpectedRegistration(try RegistrationRequest(parsing: request)),
                existing: Set(self.registered.map { CredentialID(aaid: $0.aaid, keyID: $0.keyID) }),
                at: Timestamp(seconds: Int64(try Date(self.time, strategy: .iso8601).timeIntervalSince1970)))
        } else {
            let response = try UnverifiedAuthentication(parsing: self.response.utf8)
            _ = try AuthenticationVerifier(configuration).verify(
                response,
                expected: ExpectedAuthentication(try AuthenticationRequest(parsing: request), account: self.account),
                credentials: self.registered.map {
                    RegisteredCredential(
                        id: CredentialID(aaid: $0.aaid, keyID: $0.keyID), publicKey: $0.publicKey,
                        publicKeyFormat: $0.publicKeyFormat, signatureAlgorithm: $0.signatureAlgorithm,
                        signCounter: $0.signCounter, account: $0.account, deviceRegistration: Names.device)
                })
        }
    }
}

@Suite("uaf-sections §21: our server's verdict on the test vectors, ours and those that Python made")
struct OwnVectorTests {
    @Test("All vectors are there")
    func count() { #expect(VectorFile.all.count == UAFScenario.all.count + 128) }

    @Test("The verdict is the one that the vector names, and a refusal comes from the step that it names")
    func verdicts() {
        #expect(VectorFile.all.count == 689)
        for file in VectorFile.all {
            do {
                try file.vector.judge()
                #expect(file.vector.status == .ok, "\(file.name) was accepted")
            } catch let refusal as UAFRefusal {
                #expect(
                    refusal.statusCode == file.vector.status && refusal.step.rawValue == file.vector.step,
                    "\(file.name): \(refusal)")
            } catch {
                Issue.record("\(file.name): \(error)")
            }
        }
    }

    @Test("Every step that can refuse a message refuses a vector")
    func steps() {
        let steps = Set(VectorFile.all.compactMap(\.vector.step))
        #expect(Set(VerificationStep.allCases.map(\.rawValue)).subtracting(steps).isEmpty)
    }
}
