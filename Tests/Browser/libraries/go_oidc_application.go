// A web application with go-oidc, by which most programs in Go verify ID tokens, and with oauth2 of golang.org.
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log"
	"net/http"
	"os"

	oidc "github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func fresh() string {
	bytes := make([]byte, 24)
	if _, err := rand.Read(bytes); err != nil {
		log.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func main() {
	background := context.Background()
	provider, err := oidc.NewProvider(background, os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	address := "127.0.0.1:" + os.Getenv("PORT")
	client := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     provider.Endpoint(),
		RedirectURL:  "http://" + address + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile"},
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: client.ClientID})
	// One browser at a time uses this application.
	state, nonce := fresh(), fresh()

	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		http.Redirect(answer, request, client.AuthCodeURL(state, oidc.Nonce(nonce)), http.StatusFound)
	})
	http.HandleFunc("/callback", func(answer http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Get("state") != state {
			http.Error(answer, "state", http.StatusBadRequest)
			return
		}
		token, err := client.Exchange(background, request.URL.Query().Get("code"))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		text, _ := token.Extra("id_token").(string)
		idToken, err := verifier.Verify(background, text)
		if err != nil || idToken.Nonce != nonce {
			http.Error(answer, "ID token", http.StatusBadGateway)
			return
		}
		person, err := provider.UserInfo(background, oauth2.StaticTokenSource(token))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		json.NewEncoder(answer).Encode(map[string]string{"sub": person.Subject, "email": person.Email})
	})
	log.Fatal(http.ListenAndServe(address, nil))
}
