// Renders templates as Helm does, with Go's own text/template and sprig: what our renderer is held
// against. Reads {"templates": {path: source}, "cases": [{"context": {…}, "apiVersions": […],
// "files": {…}}]} and writes, for each case, {"texts": {path: text}} or {"error": "…"}.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type apiVersions []string

func (known apiVersions) Has(version string) bool {
	for _, each := range known {
		if each == version {
			return true
		}
	}
	return false
}

type files map[string]string

func (known files) Get(path string) string { return known[path] }

type renderCase struct {
	Context     map[string]interface{}
	APIVersions apiVersions
	Files       files
}

type input struct {
	Templates map[string]string
	Cases     []renderCase
}

type output struct {
	Texts map[string]string `json:"texts,omitempty"`
	Error string            `json:"error,omitempty"`
}

func render(templates map[string]string, given renderCase) (map[string]string, error) {
	all := template.New("charts").Option("missingkey=zero")
	funcs := sprig.TxtFuncMap()
	delete(funcs, "env")
	delete(funcs, "expandenv")
	funcs["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	funcs["tpl"] = func(source string, data interface{}) (string, error) {
		clone, err := all.Clone()
		if err != nil {
			return "", err
		}
		parsed, err := clone.New("tpl").Parse(source)
		if err != nil {
			return "", err
		}
		var text bytes.Buffer
		err = parsed.Execute(&text, data)
		return text.String(), err
	}
	funcs["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	funcs["fromYaml"] = func(text string) (map[string]interface{}, error) {
		value := map[string]interface{}{}
		err := yaml.Unmarshal([]byte(text), &value)
		return value, err
	}
	funcs["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	all.Funcs(funcs)
	for path, source := range templates {
		if _, err := all.New(path).Parse(source); err != nil {
			return nil, err
		}
	}
	given.Context["Capabilities"] = map[string]interface{}{"APIVersions": given.APIVersions}
	given.Context["Files"] = given.Files
	texts := map[string]string{}
	for path := range templates {
		if strings.HasSuffix(path, ".tpl") {
			continue
		}
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, path, given.Context); err != nil {
			return nil, err
		}
		// As Helm does.
		texts[path] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return texts, nil
}

func main() {
	var given input
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	outputs := []output{}
	for _, each := range given.Cases {
		texts, err := render(given.Templates, each)
		if err != nil {
			outputs = append(outputs, output{Error: err.Error()})
		} else {
			outputs = append(outputs, output{Texts: texts})
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(outputs); err != nil {
		panic(err)
	}
}
